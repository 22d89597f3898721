//! The `spillway` program: hands the command line to the library and ends with its exit code.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: spillway::Allocator = spillway::Allocator;

fn main() -> ExitCode {
    ExitCode::from(spillway::cli::main(std::env::args_os().skip(1)))
}
