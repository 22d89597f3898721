//! Who we are to the server: the `Authorization` header from `user` and `password`, `cloud_auth` or `api_key`.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::HeaderValue;

use crate::plugins::Secret;

/// `Basic …` for a user and password.
pub fn basic(user: &str, password: &Secret) -> Option<HeaderValue> {
    header(&format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{}", password.reveal()))))
}

/// `ApiKey …` for an API key in one of its forms: encoded, `essu_…`, or `id:key`.
pub fn api_key(key: &Secret) -> Result<HeaderValue, String> {
    let text = key.reveal();
    let encoded = BASE64_STANDARD.decode(text).is_ok() && !text.is_empty();
    let universal = text.strip_prefix("essu_").is_some_and(|rest| !rest.is_empty());
    let value = match text.split_once(':') {
        _ if encoded || universal => text.to_owned(),
        Some((id, key)) if !id.is_empty() && !key.is_empty() && !key.contains(':') => BASE64_STANDARD.encode(text),
        _ => return Err("Invalid api_key format: give `id:api_key`, or the encoded key".to_owned()),
    };
    header(&format!("ApiKey {value}")).ok_or_else(|| "Invalid api_key format: it holds control characters".to_owned())
}

/// User and password of `cloud_auth`.
pub fn cloud_auth(value: &Secret) -> Result<(String, Secret), String> {
    match value.reveal().split_once(':') {
        Some((user, password)) if !user.is_empty() && !password.is_empty() && !password.contains(':') => {
            Ok((user.to_owned(), Secret::new(password.to_owned())))
        }
        _ => Err("`cloud_auth` has the format <username>:<password>, both not empty".to_owned()),
    }
}

fn header(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_key_forms() {
        let key = |text: &str| api_key(&Secret::new(text.to_owned())).map(|v| v.to_str().unwrap().to_owned());
        assert_eq!(key("a:b"), Ok("ApiKey YTpi".to_owned()));
        assert_eq!(key("YTpi"), Ok("ApiKey YTpi".to_owned()));
        assert_eq!(key("essu_x"), Ok("ApiKey essu_x".to_owned()));
        for text in ["", "a:", ":b", "a:b:c", "YTp", "essu_"] {
            assert!(key(text).is_err_and(|e| e.contains("Invalid api_key format")), "{text}");
        }
    }

    #[test]
    fn basic_takes_any_character() {
        let value = basic("u", &Secret::new("p@:/#%".to_owned())).unwrap();
        assert_eq!(value, "Basic dTpwQDovIyU=");
    }
}
