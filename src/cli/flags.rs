//! The flags of run mode, read by the table of settings: `--x v`, `--x=v`, `-w2`, `-rt`, `-S KEY=VALUE`.
//!
//! On/off flags may stand alone or be followed by a word, which is then their value: that is how Logstash's own
//! parser reads `-r true`.

use std::ffi::OsString;

use crate::config::{did_you_mean, nearest};
use crate::settings::kind::{Kind, Raw, Value};
use crate::settings::table::{self, Setting};
use crate::settings::values::{Origin, Values};

/// What the flags ask for.
#[derive(Debug, Default)]
pub(super) struct Invocation {
    /// What to do.
    pub action: Action,
    /// The settings they set.
    pub values: Values,
    /// Whether mistakes are shown in colours; `None` leaves that to the terminal.
    pub color: Option<bool>,
    /// What is likely not meant.
    pub warnings: Vec<String>,
}

/// What to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Action {
    /// Run pipelines, or check them.
    #[default]
    Run,
    /// Print help.
    Help {
        /// All of it.
        long: bool,
    },
    /// Print the version.
    Version {
        /// As JSON.
        json: bool,
    },
}

/// Why a command line cannot be understood.
#[derive(Debug, thiserror::Error)]
pub(super) enum UsageError {
    #[error("Unrecognised option '{flag}'{}", remark(.near))]
    UnknownFlag { flag: String, near: Option<String> },
    #[error("Unknown command '{word}'{}", remark(.hint))]
    UnknownCommand { word: String, hint: Option<String> },
    #[error("option '{flag}': no value given")]
    NoValue { flag: String },
    #[error("option '{flag}' ({name}): `{value}` is wrong, it must be {allowed}{}", remark(.hint))]
    WrongValue { flag: String, name: &'static str, value: String, allowed: String, hint: Option<String> },
    #[error("option '{flag}': write KEY=VALUE, not `{value}`")]
    NoPair { flag: String, value: String },
    #[error("Setting \"{name}\" doesn't exist (option '{flag}'){}", remark(.near))]
    UnknownSetting { flag: String, name: String, near: Option<String> },
    #[error("the argument {0:?} is no UTF-8 text")]
    NotText(OsString),
}

fn remark(hint: &Option<String>) -> String {
    hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default()
}

/// Flags that are none of the settings'.
const OTHERS: &[&str] =
    &["-h", "--help", "-V", "--version", "-S", "--setting", "--verbose", "--debug", "--quiet", "--json", "--color"];

/// Reads the flags of run mode.
pub(super) fn parse(arguments: &[String]) -> Result<Invocation, UsageError> {
    let mut parser = Parser { rest: arguments.iter(), result: Invocation::default() };
    while let Some(argument) = parser.rest.next() {
        match argument.strip_prefix('-') {
            None => return Err(super::unknown_command(argument)),
            Some("-") => {
                if let Some(word) = parser.rest.next() {
                    return Err(super::unknown_command(word));
                }
            }
            Some(long) if long.starts_with('-') => match argument.split_once('=') {
                Some((flag, value)) => parser.flag(flag, Some(value))?,
                None => parser.flag(argument, None)?,
            },
            Some("") => return Err(super::unknown_command(argument)),
            Some(cluster) => parser.cluster(cluster)?,
        }
    }
    Ok(parser.result)
}

struct Parser<'a> {
    rest: std::slice::Iter<'a, String>,
    result: Invocation,
}

impl Parser<'_> {
    /// `-w2`, `-rt`, `-f file`: flags of one letter, of which the last may take a value.
    fn cluster(&mut self, cluster: &str) -> Result<(), UsageError> {
        for (at, letter) in cluster.char_indices() {
            let flag = format!("-{letter}");
            let after = cluster.get(at + letter.len_utf8()..).unwrap_or_default();
            let takes_value = flag == "-S" || table::find_flag(&flag).is_some_and(|s| s.kind != Kind::Bool);
            if takes_value && !after.is_empty() {
                return self.flag(&flag, Some(after.strip_prefix('=').unwrap_or(after)));
            }
            if after.is_empty() {
                return self.flag(&flag, None);
            }
            // Only the last letter may take the next word.
            self.flag(&flag, table::find_flag(&flag).map(|_| "true"))?;
        }
        Ok(())
    }

    fn flag(&mut self, flag: &str, value: Option<&str>) -> Result<(), UsageError> {
        if let Some(setting) = table::find_flag(flag) {
            return self.setting(setting, flag, value);
        }
        match flag {
            "-h" | "--help" => self.result.action = Action::Help { long: flag == "--help" },
            // Help wins over version, whatever the order.
            "-V" | "--version" if self.result.action == Action::Run => {
                self.result.action = Action::Version { json: false };
            }
            "-V" | "--version" => {}
            "--json" if matches!(self.result.action, Action::Version { .. }) => {
                self.result.action = Action::Version { json: true };
            }
            "-S" | "--setting" => self.pair(flag, value)?,
            "--verbose" | "--debug" | "--quiet" => self.old_level(flag),
            "--color" => self.color(flag, value)?,
            _ => return Err(unknown_flag(flag)),
        }
        Ok(())
    }

    fn setting(&mut self, setting: &'static Setting, flag: &str, value: Option<&str>) -> Result<(), UsageError> {
        let value = match value {
            Some(value) => value,
            None if setting.kind == Kind::Bool => self.next_word().unwrap_or("true"),
            None => self.rest.next().ok_or_else(|| UsageError::NoValue { flag: flag.to_owned() })?,
        };
        let mut read = read(setting, flag, value)?;
        if let (Value::List(more), Value::List(before)) = (&mut read, self.result.values.get(setting.name)) {
            more.splice(0..0, before);
        } else if let Some(before) = self.result.values.explicit(setting.name).map(|set| set.origin.to_string()) {
            let message = format!("{flag} overrides an earlier {}: only the last one counts", in_parentheses(&before));
            self.result.warnings.push(message);
        }
        self.result.values.set(setting, read, Origin::Flag(flag.to_owned()));
        Ok(())
    }

    /// The next argument if it is no flag.
    fn next_word(&mut self) -> Option<&str> {
        let word = self.rest.as_slice().first().filter(|word| !word.starts_with('-'))?;
        self.rest.next();
        Some(word)
    }

    /// `-S KEY=VALUE`, `-S KEY:VALUE`; an empty value goes back to the default.
    fn pair(&mut self, flag: &str, value: Option<&str>) -> Result<(), UsageError> {
        let pair = match value {
            Some(pair) => pair,
            None => self.rest.next().ok_or_else(|| UsageError::NoValue { flag: flag.to_owned() })?,
        };
        let Some((name, value)) = pair.split_once(['=', ':']) else {
            return Err(UsageError::NoPair { flag: flag.to_owned(), value: pair.to_owned() });
        };
        let Some(setting) = table::find(name.trim()) else {
            let near = table::renamed(name).map(str::to_owned);
            let near = near.or_else(|| did_you_mean(&table::nearest(name)));
            return Err(UsageError::UnknownSetting { flag: flag.to_owned(), name: name.to_owned(), near });
        };
        if value.is_empty() {
            self.result.values.reset(setting);
        } else {
            let flag = format!("{flag} {}", setting.name);
            let value = read(setting, &flag, value)?;
            self.result.values.set(setting, value, Origin::Flag(flag));
        }
        Ok(())
    }

    fn color(&mut self, flag: &str, value: Option<&str>) -> Result<(), UsageError> {
        let value = match value {
            Some(value) => value,
            None => self.rest.next().ok_or_else(|| UsageError::NoValue { flag: flag.to_owned() })?,
        };
        self.result.color = match value {
            "always" => Some(true),
            "never" => Some(false),
            "auto" => None,
            _ => {
                let (value, allowed) = (value.to_owned(), "one of always, never, auto".to_owned());
                return Err(UsageError::WrongValue {
                    flag: flag.to_owned(),
                    name: "colours",
                    value,
                    allowed,
                    hint: None,
                });
            }
        };
        Ok(())
    }

    fn old_level(&mut self, flag: &str) {
        let level = match flag {
            "--verbose" => "info",
            "--debug" => "debug",
            _ => "error",
        };
        self.result.warnings.push(format!("{flag} is deprecated, write --log.level {level}"));
        if let Some(setting) = table::find("log.level") {
            self.result.values.set(setting, Value::Word(level), Origin::Flag(flag.to_owned()));
        }
    }
}

fn in_parentheses(origin: &str) -> &str {
    origin.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(origin)
}

fn read(setting: &'static Setting, flag: &str, value: &str) -> Result<Value, UsageError> {
    setting.kind.read(&Raw::text(value)).map_err(|allowed| {
        // A word behind an on/off flag is its value, which surprises most people.
        let is_file = setting.kind == Kind::Bool && std::path::Path::new(value).exists();
        let hint = is_file.then(|| format!("to give a file write {flag} -f {value}"));
        let value = if setting.kind == Kind::Password { "<password>" } else { value };
        UsageError::WrongValue { flag: flag.to_owned(), name: setting.name, value: value.to_owned(), allowed, hint }
    })
}

fn unknown_flag(flag: &str) -> UsageError {
    let known = table::all().flat_map(|s| s.flags.iter().copied()).chain(OTHERS.iter().copied());
    let long: Vec<&str> = known.filter(|known| known.len() > 2).collect();
    let near = did_you_mean(&nearest(flag, long.iter().copied()));
    let near = near.or_else(|| {
        table::find(flag.trim_start_matches('-'))
            .map(|s| format!("the setting {0} has no flag, write -S {0}=VALUE", s.name))
    });
    UsageError::UnknownFlag { flag: flag.to_owned(), near }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Invocation, UsageError> {
        parse(&line.split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect::<Vec<_>>())
    }

    /// The settings that a line sets.
    fn set(line: &str) -> Vec<(&'static str, Value)> {
        parse_line(line).unwrap().values.iter().map(|(name, set)| (name, set.value.clone())).collect()
    }

    #[test]
    fn all_ways_to_write_a_flag() {
        let workers = |n| vec![("pipeline.workers", Value::Integer(n))];
        for line in ["-w 2", "-w2", "-w=2", "--pipeline.workers 2", "--pipeline.workers=2", "-S pipeline.workers=2"] {
            assert_eq!(set(line), workers(2), "{line}");
        }
        assert_eq!(set("-w 2 -w 3"), workers(3));
        let both = vec![("config.reload.automatic", Value::Bool(true)), ("config.test_and_exit", Value::Bool(true))];
        assert_eq!(set("-rt"), both);
        assert_eq!(set("-r -t"), both);
        assert_eq!(set("-r true -t"), both);
        assert_eq!(set("--config.debug false"), [("config.debug", Value::Bool(false))]);
        assert_eq!(set("--config.debug=false"), [("config.debug", Value::Bool(false))]);
        assert_eq!(set("-tf x.conf").get(1), Some(&("path.config", Value::Text("x.conf".into()))));
        assert_eq!(set("-p a -p b"), [("path.plugins", Value::List(vec!["a".into(), "b".into()]))]);
        assert_eq!(
            set("-S node.name:x -S api.http.host=h"),
            [("node.name", Value::Text("x".into())), ("api.http.host", Value::Text("h".into()))]
        );
        assert_eq!(set("-S node.name=x -S node.name="), []);
        assert_eq!(set("--debug"), [("log.level", Value::Word("debug"))]);
    }

    #[test]
    fn an_empty_text_is_a_value() {
        let invocation = parse(&["-e".into(), String::new()]).unwrap();
        assert_eq!(invocation.values.get("config.string"), Value::Text(String::new()));
        let invocation = parse(&["-e".into(), "-x".into()]).unwrap();
        assert_eq!(invocation.values.get("config.string"), Value::Text("-x".into()));
    }

    #[test]
    fn mistakes_name_the_flag_and_the_remedy() {
        for (line, parts) in [
            ("-w 0", vec!["'-w'", "pipeline.workers", "`0`", "at least 1"]),
            ("-w", vec!["'-w'", "no value"]),
            ("--pipeline.worker 2", vec!["Unrecognised option '--pipeline.worker'", "--pipeline.workers"]),
            ("--dead_letter_queue.enable true", vec!["-S dead_letter_queue.enable=VALUE"]),
            ("-Q", vec!["Unrecognised option '-Q'"]),
            ("-t Cargo.toml", vec!["'-t'", "`Cargo.toml`", "-t -f Cargo.toml"]),
            ("-t -- x", vec!["Unknown command 'x'"]),
            ("-t true tset", vec!["Unknown command 'tset'", "`test`"]),
            ("-S nonsense", vec!["KEY=VALUE"]),
            ("-S log.levle=debug", vec!["log.levle", "log.level"]),
            ("-S http.port=9600", vec!["api.http.port"]),
            ("--log.level loud", vec!["fatal, error, warn, info, debug, trace"]),
            ("--config.reload.interval 60", vec!["60s"]),
        ] {
            let message = parse_line(line).unwrap_err().to_string();
            for part in parts {
                assert!(message.contains(part), "{line}: {message}");
            }
        }
    }

    #[test]
    fn what_is_likely_not_meant_is_a_warning() {
        for (line, part) in [
            ("-f a -f b", "only the last one counts"),
            ("-f a --path.config b", "overrides an earlier -f"),
            ("--verbose", "--log.level info"),
        ] {
            assert!(parse_line(line).unwrap().warnings.concat().contains(part), "{line}");
        }
        assert!(parse_line("-p a -p b -w 2").unwrap().warnings.is_empty());
    }

    #[test]
    fn help_and_version() {
        for (line, action) in [
            ("-h", Action::Help { long: false }),
            ("--help", Action::Help { long: true }),
            ("-V", Action::Version { json: false }),
            ("--version --json", Action::Version { json: true }),
            ("-V --help", Action::Help { long: true }),
            ("-t", Action::Run),
        ] {
            assert_eq!(parse_line(line).unwrap().action, action, "{line}");
        }
    }
}
