"""`python -m tachyfits` runs the command line, even if scripts are not on the path."""

from tachyfits.cli import main

if __name__ == "__main__":
    main()
