//! The operator passphrase and tokens as they are stored, and the password of the user's account at the system.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use argon2::{Algorithm, Argon2, Params, Version};
use mgp_types::canonical::Digest;
use mgp_types::mgp::Timestamp;
use mgp_types::random_bytes;
use serde::{Deserialize, Serialize};

use crate::state::folder::{read_json, write_json};

/// The file in the state with the digests of the operator passphrase and of the tokens that were issued with it. The file
/// is read for each request, because several kernels of a user share it.
#[derive(Debug)]
pub(super) struct OperatorSecrets(pub(super) PathBuf);

/// The passphrase and the tokens as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredOperatorSecrets {
    /// The slow, salted hash of the passphrase, with its parameters, in PHC format.
    #[serde(skip_serializing_if = "Option::is_none")]
    passphrase: Option<String>,
    /// True if every program of the account may decide.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) without_proof: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tokens: Vec<TokenDigest>,
}

/// The digest of a token. A token has 256 random bits, so a fast digest reveals nothing about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct TokenDigest {
    digest: String,
    expires_at: Timestamp,
}

impl OperatorSecrets {
    /// Returns the secrets that are kept in `state`.
    pub(super) fn at(state: &Path) -> Self {
        Self(state.join(FILE))
    }

    pub(super) fn read(&self) -> io::Result<StoredOperatorSecrets> {
        Ok(read_json(&self.0)?.unwrap_or_default())
    }

    pub(super) fn write(&self, secrets: &StoredOperatorSecrets) -> io::Result<()> {
        write_json(&self.0, secrets)
    }

    /// Writes the secrets as `change` leaves them.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut StoredOperatorSecrets) -> T) -> io::Result<T> {
        let mut secrets = self.read()?;
        let outcome = change(&mut secrets);
        self.write(&secrets)?;
        Ok(outcome)
    }
}

impl StoredOperatorSecrets {
    /// Returns the secrets with this passphrase or, with `None`, those by which every program of the account may decide. No
    /// token is valid with them. Slow, because the hash is.
    pub(super) fn of(passphrase: Option<&str>) -> io::Result<Self> {
        let passphrase = passphrase.map(hashed).transpose()?;
        Ok(Self { without_proof: passphrase.is_none(), passphrase, tokens: Vec::new() })
    }

    /// Issues a token that is valid until `expires_at`.
    pub(super) fn new_token(&mut self, now: Timestamp, expires_at: Timestamp) -> String {
        let secret = format!("{PREFIX}{}", Digest::from(random_bytes()));
        self.tokens.retain(|token| token.expires_at > now);
        self.tokens.push(TokenDigest { digest: digest(&secret), expires_at });
        secret
    }

    /// Returns whether a passphrase is set.
    pub(super) const fn has_passphrase(&self) -> bool {
        self.passphrase.is_some()
    }

    /// Returns whether `passphrase` is the one that is set. Slow, because the hash is.
    pub(super) fn is_passphrase(&self, passphrase: &str) -> bool {
        let hash = self.passphrase.as_deref().and_then(|kept| PasswordHash::new(kept).ok());
        hash.is_some_and(|hash| Argon2::default().verify_password(passphrase.as_bytes(), &hash).is_ok())
    }

    /// Returns whether a token is valid.
    pub(super) fn has_token(&self, now: Timestamp) -> bool {
        self.tokens.iter().any(|token| token.expires_at > now)
    }

    /// Returns whether `secret` is a token that has not expired.
    pub(super) fn is_token(&self, secret: &str, now: Timestamp) -> bool {
        let digest = digest(secret);
        self.tokens.iter().any(|token| token.digest == digest && token.expires_at > now)
    }
}

fn hashed(passphrase: &str) -> io::Result<String> {
    let salt =
        SaltString::encode_b64(&random_bytes::<16>()).map_err(|error| io::Error::other(error.to_string()))?;
    let costs =
        Params::new(MEMORY_KIB, PASSES, 1, None).map_err(|error| io::Error::other(error.to_string()))?;
    let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, costs);
    let hash = hash.hash_password(passphrase.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|error| io::Error::other(error.to_string()))
}

fn digest(secret: &str) -> String {
    Digest::of_canonical(secret.as_bytes()).to_string()
}

/// The costs of the hash: each guess at a stolen file takes as much.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;

const FILE: &str = "operators.json";
/// The prefix of tokens, by which a token is recognised wherever it stands.
const PREFIX: &str = "mgp_operators_";

/// The account that the kernel runs as, where the system checks the password of an account for the account itself: on
/// Linux by the helper of PAM. Touch ID and Windows Hello are not asked.
#[derive(Debug)]
pub(super) struct SystemAccount {
    pub(super) user: Box<str>,
    helper: &'static Path,
}

impl SystemAccount {
    /// Returns the account of this process, if it has a password that can be checked.
    pub(super) fn own() -> Option<Self> {
        let helper = HELPERS.map(Path::new).into_iter().find(|helper| helper.exists())?;
        let status = Command::new("/usr/bin/passwd").arg("--status").stdin(Stdio::null()).output().ok()?;
        let status = String::from_utf8(status.stdout).ok()?;
        let mut words = status.split_ascii_whitespace();
        let user = words.next()?.into();
        // `P`, or `PS` on some systems: there is a password, and it may be used.
        words.next().filter(|state| state.starts_with('P')).map(|_| Self { user, helper })
    }

    /// Returns whether this is the password of the account. Slow, because the system's check is.
    pub(super) fn has_password(&self, password: &str) -> bool {
        !password.contains('\0') && self.is_accepted(password).unwrap_or(false)
    }

    fn is_accepted(&self, password: &str) -> io::Result<bool> {
        let mut command = Command::new(self.helper);
        command.args([&self.user, "nonull"]).env_clear();
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        if let Some(mut input) = child.stdin.take() {
            // A helper that ends before it has read everything does not accept the password.
            let _ = input.write_all(&[password.as_bytes(), b"\0"].concat());
        }
        Ok(child.wait()?.success())
    }
}

/// The places of the helper by which PAM lets users check their own passwords.
const HELPERS: [&str; 2] = ["/usr/sbin/unix_chkpwd", "/usr/bin/unix_chkpwd"];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_passphrase_is_kept_as_a_slow_hash_that_only_its_owner_reads() {
        let state = tempfile::tempdir().unwrap();
        let secrets = OperatorSecrets::at(state.path());
        let none = secrets.read().unwrap();
        assert!(!none.has_passphrase() && !none.is_passphrase("") && !none.without_proof);
        secrets.write(&StoredOperatorSecrets::of(Some("correct horse")).unwrap()).unwrap();
        let set = OperatorSecrets::at(state.path()).read().unwrap();
        assert!(set.has_passphrase() && set.is_passphrase("correct horse"));
        assert!(!set.is_passphrase("correct hors") && !set.without_proof);
        let kept = std::fs::read_to_string(state.path().join(FILE)).unwrap();
        assert!(kept.contains("$argon2id$") && !kept.contains("horse"), "{kept}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = std::fs::metadata(state.path().join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        secrets.write(&StoredOperatorSecrets::of(None).unwrap()).unwrap();
        assert!(secrets.read().unwrap().without_proof);
    }

    #[test]
    fn a_token_is_valid_until_it_expires_or_the_passphrase_changes() {
        let mut secrets = StoredOperatorSecrets::of(Some("correct horse")).unwrap();
        let now = Timestamp::EPOCH;
        let later = now.saturating_add(Duration::from_hours(1));
        let token = secrets.new_token(now, later);
        assert!(secrets.is_token(&token, now) && secrets.has_passphrase());
        assert!(!secrets.is_token(&token, later) && !secrets.is_token("", now));
        assert!(!StoredOperatorSecrets::of(Some("another horse")).unwrap().is_token(&token, now));
    }

    #[test]
    fn a_file_that_says_nothing_of_the_kind_is_refused() {
        let state = tempfile::tempdir().unwrap();
        for text in ["", "no", r#"{"passphrase":1}"#] {
            std::fs::write(state.path().join(FILE), text).unwrap();
            assert!(OperatorSecrets::at(state.path()).read().is_err(), "{text}");
        }
    }
}
