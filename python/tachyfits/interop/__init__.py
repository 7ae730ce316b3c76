"""Tables of other libraries; each library is imported on demand."""
