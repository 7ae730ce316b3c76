"""Files and HDUs as their headers describe them."""
