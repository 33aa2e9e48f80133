"""Registration of conferences in the tables of the gym, see `vcgym.baselines.controls.control.StagePlugin`."""

from vcgym.baselines.controls.control import CENTRAL, ControlRow, StagePlugin

TREES = "trees"
"""Control: trees of all sessions of a conference, with their rates."""

STAGE = StagePlugin(
    controls={TREES: ControlRow("conference", CENTRAL, 4, None)},
    package="vcgym.conference",
    kind="vcgym.conference.board.kind:CONFERENCE",
    strata="vcgym.conference.network.scenario:KINDS",
    pictures="vcgym.conference.board.series:PICTURES",
)
