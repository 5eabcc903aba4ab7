//! The user's account at the system, whose password proves that a person is there.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

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
