//! User and password out of JAAS text, as Java clients take it:
//! `org.apache.kafka.common.security.plain.PlainLoginModule required username="x" password="y";`, alone or in a file
//! inside of `KafkaClient { … };`.

use crate::plugins::Secret;

/// How to log in.
#[derive(Debug)]
pub struct Login {
    pub user: String,
    pub password: Secret,
}

/// The login of the section `KafkaClient`, or of a text without sections. Tells what is missing.
pub fn login(text: &str) -> Result<Login, String> {
    let words = words(text)?;
    let start = match words.iter().position(|word| word == "KafkaClient") {
        Some(at) => at + 1,
        None if words.iter().any(|word| word == "{") => return Err("it has no section `KafkaClient`".to_owned()),
        None => 0,
    };
    let entry = || words.iter().skip(start).take_while(|word| *word != ";" && *word != "}");
    if let Some(module) = entry().find(|word| word.ends_with("Module"))
        && !module.ends_with(".PlainLoginModule")
        && !module.ends_with(".ScramLoginModule")
    {
        return Err(format!("`{module}` is not supported: there are PlainLoginModule and ScramLoginModule"));
    }
    let value = |name: &str| {
        let found = entry().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        found.map(str::to_owned).ok_or_else(|| format!("it gives no `{name}`"))
    };
    Ok(Login { user: value("username")?, password: Secret::new(value("password")?) })
}

/// Words, with `name="value"` as one of them and without its quotes; `{`, `}` and `;` are words.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => loop {
                match rest.next() {
                    Some('"') => break,
                    Some('\\') => word.extend(rest.next()),
                    Some(c) => word.push(c),
                    None => return Err("a quote is not closed".to_owned()),
                }
            },
            '/' if word.is_empty() && rest.peek() == Some(&'/') => {
                rest.by_ref().find(|c| *c == '\n');
            }
            '{' | '}' | ';' => {
                words.extend(take(&mut word));
                words.push(c.to_string());
            }
            // Blanks may stand around the equals sign.
            '=' if word.is_empty() => {
                word = words.pop().unwrap_or_default() + "=";
                while rest.next_if(|c| c.is_whitespace()).is_some() {}
            }
            '=' => {
                word.push('=');
                while rest.next_if(|c| c.is_whitespace()).is_some() {}
            }
            c if c.is_whitespace() => words.extend(take(&mut word)),
            c => word.push(c),
        }
    }
    words.extend(take(&mut word));
    Ok(words)
}

fn take(word: &mut String) -> Option<String> {
    (!word.is_empty()).then(|| std::mem::take(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String), String> {
        login(text).map(|login| (login.user, login.password.reveal().to_owned()))
    }

    #[test]
    fn user_and_password_are_found() {
        let plain = r#"org.apache.kafka.common.security.plain.PlainLoginModule required username="al ice" password = "a\"b;=" ;"#;
        assert_eq!(read(plain), Ok(("al ice".into(), "a\"b;=".into())));
        let file = "// of the broker\nKafkaServer { x.PlainLoginModule required username=\"s\" password=\"t\"; };\nKafkaClient {\n  \
                    org.apache.kafka.common.security.scram.ScramLoginModule required\n  username=\"u\"\n  password=\"p\";\n};\n";
        assert_eq!(read(file), Ok(("u".into(), "p".into())));
    }

    #[test]
    fn what_cannot_be_used_is_told() {
        for (text, words) in [
            ("x.PlainLoginModule required username=\"u\";", "no `password`"),
            ("x.PlainLoginModule required username=\"u", "not closed"),
            ("com.sun.security.auth.module.Krb5LoginModule required;", "not supported"),
            ("Other { x.PlainLoginModule required username=\"u\" password=\"p\"; };", "`KafkaClient`"),
            ("", "no `username`"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
