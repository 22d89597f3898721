//! The `spillway` program: hands the command line to the library and ends with its exit code.

use std::process::ExitCode;

/// Memory comes from mimalloc: many small texts are made in one thread and freed in another.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(spillway::cli::main(std::env::args_os().skip(1)))
}
