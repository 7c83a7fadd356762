"""Runs that survive: a game in a folder, saved as it is played (folder.py) and resumed to the same bits (session.py).

run = runs.start(Spec.of(kernel="ring:12", costs="iid", rounds=1000), "runs/first")
run = runs.resume("runs/first")           # after a crash: plays what is left
run = runs.load("runs/first")             # only reads
table = Folder(Path("runs/first")).rounds()
"""

from lsmdp.runs.folder import Folder
from lsmdp.runs.session import load, resume, start
from lsmdp.runs.spec import Spec, default_folder
from lsmdp.runs.summary import progress_of

__all__ = ["Folder", "Spec", "default_folder", "load", "progress_of", "resume", "start"]
