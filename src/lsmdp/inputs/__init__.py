"""What somebody else gives: files, read without trust, and values that come by name.

- :mod:`~lsmdp.inputs.files`: only regular files are read, and what a header promises is held against the size of the
  file before memory is asked for;
- :mod:`~lsmdp.inputs.npy`: arrays (``.npy``) and archives of arrays (``.npz``);
- :mod:`~lsmdp.inputs.parquet`: the one place that opens parquet files;
- :mod:`~lsmdp.inputs.records`: JSON and TOML with the types that they should have;
- :mod:`~lsmdp.inputs.dialects`: how a table is written as text: separators, comments, decimal commas;
- :mod:`~lsmdp.inputs.frames`: tables of pandas, polars and other libraries;
- :mod:`~lsmdp.inputs.forms`: what arrays must be that come back from a file of the library's own;
- :mod:`~lsmdp.inputs.labels`: what states are called, and whose value is whose where values come by name;
- :mod:`~lsmdp.inputs.notes`: what is said beside an answer, such as a guess.

A file that is damaged, forged or of another kind raises :class:`~lsmdp.inputs.files.UnreadableError` with the reason in
a few words; whoever asked for the file adds its name and the way out, and makes it an error of lsmdp.
"""
