//! Who may send: one user with a password (basic authentication).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;
use sha2::{Digest, Sha256};

use crate::plugins::Options;

/// The user that may send. Only a digest is kept, which also makes comparing take the same time for every guess.
pub(super) struct Credentials([u8; 32]);

/// What a request says of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is the user.
    Known,
    /// It is somebody else.
    Unknown,
    /// Nothing.
    Absent,
}

impl Credentials {
    /// Declares and reads `user` and `password`.
    pub fn read(options: &mut Options<'_>) -> Option<Self> {
        let user = options.string("user").doc("User that senders have to name.").optional();
        let password = options.password("password").doc("Password of that user.").optional();
        match (user, password) {
            (Some(user), Some(password)) => Some(Self::new(&user, password.reveal())),
            (None, None) => None,
            (user, _) => {
                let (given, missing) = if user.is_some() { ("user", "password") } else { ("password", "user") };
                let message = format!("`{given}` without `{missing}` protects nothing: everybody may send");
                options.warn(given, "insecure", message);
                None
            }
        }
    }

    fn new(user: &str, password: &str) -> Self {
        Self(Sha256::digest(format!("{user}:{password}")).into())
    }

    /// Looks at the head of a request.
    pub fn judge(&self, headers: &HeaderMap) -> Verdict {
        let Some(value) = headers.get(AUTHORIZATION) else { return Verdict::Absent };
        let token = value.as_bytes().split_at_checked(6).filter(|(kind, _)| kind.eq_ignore_ascii_case(b"basic "));
        let given = token.and_then(|(_, token)| BASE64_STANDARD.decode(token.trim_ascii()).ok());
        let digest = given.map(|given| <[u8; 32]>::from(Sha256::digest(given)));
        if digest == Some(self.0) { Verdict::Known } else { Verdict::Unknown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_pair_is_known() {
        let credentials = Credentials::new("u", "p");
        let judged = |value: &str| {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
            credentials.judge(&headers)
        };
        assert_eq!(judged("Basic dTpw"), Verdict::Known);
        assert_eq!(judged("basic  dTpw"), Verdict::Known);
        for value in ["Basic eDp5", "Basic", "Bearer dTpw", "Basic !!", "dTpw"] {
            assert_eq!(judged(value), Verdict::Unknown, "{value}");
        }
        assert_eq!(credentials.judge(&HeaderMap::new()), Verdict::Absent);
    }
}
