"""`python -m alerting`: says that this version judges no rules, and ends."""

import sys

if __name__ == "__main__":
    sys.stderr.write("alerting: nothing to do yet, this version has no alert rules; they come with a later one\n")
