"""Runs that survive: a game in a folder, saved as it is played and resumed to the same bits.

    run = runs.start(Spec.of(kernel="ring:12", costs="iid", rounds=1000), "runs/first")
    run = runs.resume("runs/first")           # after a crash: plays what is left
    run = runs.load("runs/first")             # only reads
    table = Folder(Path("runs/first")).rounds()

- :mod:`~lsmdp.runs.spec`: what was asked for;
- :mod:`~lsmdp.runs.session`: playing a run, and going on with it;
- :mod:`~lsmdp.runs.turn`: being asked to stop in the midst of a round;
- :mod:`~lsmdp.runs.folder`: the files of a run, and how they get there;
- :mod:`~lsmdp.runs.manifest`, :mod:`~lsmdp.runs.records`: what it was made from, and what its JSON files hold;
- :mod:`~lsmdp.runs.film`: what some rounds looked like, for the map of the page;
- :mod:`~lsmdp.runs.summary`, :mod:`~lsmdp.runs.dynamic`: what it comes to.
"""

from lsmdp.runs.folder import Folder
from lsmdp.runs.session import load, resume, start
from lsmdp.runs.spec import Spec, default_folder
from lsmdp.runs.summary import progress_of

__all__ = ["Folder", "Spec", "default_folder", "load", "progress_of", "resume", "start"]
