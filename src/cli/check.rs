//! `spillway check`: finds mistakes in configurations without running them.

/// Runs the subcommand with what follows its name.
pub(super) fn run(_arguments: &[String]) -> u8 {
    super::say("spillway check is not in this version yet; use: spillway -t -f FILE\n");
    super::USAGE
}
