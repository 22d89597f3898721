//! `spillway test`: runs given/expected cases through the filters of a configuration.

/// Runs the subcommand with what follows its name.
pub(super) fn run(_arguments: &[String]) -> u8 {
    super::say("spillway test is not in this version yet\n");
    super::USAGE
}
