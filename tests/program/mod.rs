//! Runs the program in an empty directory and looks at what it says.

#![allow(dead_code, reason = "each test file uses its part")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// An empty directory to run in.
pub struct Place {
    dir: tempfile::TempDir,
    env: Vec<(String, String)>,
}

/// What a run said.
pub struct Said {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), env: Vec::new() }
    }

    /// With a file in it.
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// With an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn join(&self, path: &str) -> PathBuf {
        self.path().join(path)
    }

    /// A command that would run it; arguments are split at blanks.
    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_spillway"));
        command.args(arguments.split(' ').filter(|word| !word.is_empty()));
        command.current_dir(self.path());
        for name in ["SPILLWAY_SETTINGS_DIR", "LS_SETTINGS_DIR", "RUST_BACKTRACE"] {
            command.env_remove(name);
        }
        command.envs(self.env.iter().cloned());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it to its end, with nothing to read.
    pub fn run(&self, arguments: &str) -> Said {
        self.run_with_input(arguments, "")
    }

    pub fn run_with_input(&self, arguments: &str, input: &str) -> Said {
        Said::of(self.command(arguments), input)
    }
}

impl Said {
    pub fn of(mut command: Command, input: &str) -> Self {
        let mut child = command.spawn().unwrap();
        // It may end without reading.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Self::from(child.wait_with_output().unwrap())
    }

    /// The exit code, and what standard error must say, in this order.
    #[track_caller]
    pub fn fails_with(&self, code: i32, parts: &[&str]) -> &Self {
        assert_eq!(self.code, code, "{}{}", self.out, self.err);
        self.err_says(parts)
    }

    /// What standard error must say, in this order.
    #[track_caller]
    pub fn err_says(&self, parts: &[&str]) -> &Self {
        let mut rest = self.err.as_str();
        for part in parts {
            let Some(at) = rest.find(part) else { panic!("no `{part}` in its place in:\n{}", self.err) };
            rest = &rest[at + part.len()..];
        }
        self
    }

    #[track_caller]
    pub fn never_says(&self, part: &str) -> &Self {
        assert!(!self.err.contains(part) && !self.out.contains(part), "`{part}` in:\n{}{}", self.out, self.err);
        self
    }
}

impl From<Output> for Said {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
    }
}
