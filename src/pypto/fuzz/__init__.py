"""The fuzz command, ``python -m pypto.fuzz --seconds N --seed S``: random programs and arguments against the whole house.

Every program must end in the right result, a catalogue error, or the user's own exception. Anything else is a finding.

``grammar``   a random valid kernel (loop nests, branches, carried values) as source text
``standin``   the names of ``pypto`` those kernels use, in numpy and plain Python: the outside judge
``mistakes``  a valid kernel broken in one place, and calls with wrong arguments
``cases``     one case: source, arguments, what may happen
``judge``     runs one case and says what happened
``batch``     runs cases in child processes, so that a crash or a hang is a finding and not the end
``shrink``    the smallest source that still shows a finding
"""
