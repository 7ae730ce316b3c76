"""`python -m tachyfits` is the command line, also where scripts are not on the path."""

from tachyfits.cli import main

if __name__ == "__main__":
    main()
