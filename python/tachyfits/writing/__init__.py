"""New files of images and tables."""
