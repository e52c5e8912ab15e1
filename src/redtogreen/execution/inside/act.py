"""The program for one file action; see actions.py."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from actions import main

main()
