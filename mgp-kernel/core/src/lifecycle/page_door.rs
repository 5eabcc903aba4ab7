//! The way in which operators get to the page: an address, and codes for one login each.

use std::time::Duration;

use mgp_types::{Error, Principal, random_bytes};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

/// The way in which operators get to the page of a kernel: codes, each for one login, and the address of the page.
#[derive(Debug, Default)]
pub(crate) struct PageDoor {
    /// Notified when an operator wants the page to be served.
    wanted: Notify,
    /// The origin of the page, such as `http://127.0.0.1:40531`, or why it is not served.
    served: watch::Sender<Option<Result<String, String>>>,
    codes: Mutex<Vec<LoginCode>>,
}

/// A code for one login of an operator.
#[derive(Debug)]
struct LoginCode {
    code: String,
    holder: PageHolder,
    end: Instant,
}

/// A person who may see the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageHolder {
    /// The operator whom the page is for, or who let the person look.
    pub(crate) by: Principal,
    pub(crate) role: PageRole,
}

/// The rights of a person at the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PageRole {
    /// The person uses the account that the kernel runs as.
    Account,
    /// The person is another operator, or comes from another machine.
    Member,
    /// The person is an operator who signed in at the identity provider, which counts as the passphrase for this login.
    Proved,
    /// The person sees everything and decides nothing.
    Auditor,
}

impl PageDoor {
    /// Has the page served, and returns its address and a code for one login of `holder`.
    ///
    /// # Errors
    /// Fails if the page cannot be served.
    pub(crate) async fn open(&self, holder: PageHolder) -> Result<(String, String), Error> {
        let mut served = self.served.subscribe();
        self.wanted.notify_one();
        let served = tokio::time::timeout(SERVED_WITHIN, served.wait_for(Option::is_some)).await;
        let served = served.ok().and_then(Result::ok).and_then(|served| served.clone());
        let address = match served {
            Some(Ok(address)) => address,
            Some(Err(why)) => return Err(Error::internal(format!("the page cannot be served: {why}"))),
            None => return Err(Error::invalid_request("this kernel serves nobody, and no page either")),
        };
        let mut codes = self.codes.lock();
        codes.retain(LoginCode::holds);
        let oldest = codes.len().saturating_sub(MAX_CODES - 1);
        codes.drain(..oldest);
        let code = new_code();
        codes.push(LoginCode { code: code.clone(), holder, end: Instant::now() + CODE_HOLDS });
        Ok((address, code))
    }

    /// Waits until an operator wants the page to be served.
    pub(crate) async fn wanted(&self) {
        self.wanted.notified().await;
    }

    /// Notes where the page is served, or why it is not.
    pub(crate) fn note_served(&self, served: Result<String, String>) {
        self.served.send_replace(Some(served));
    }

    /// Uses up a code, and returns whose it is; `None` if it does not hold.
    pub(crate) fn redeem(&self, code: &str) -> Option<PageHolder> {
        let typed: String = code.chars().filter(char::is_ascii_alphanumeric).collect();
        let mut codes = self.codes.lock();
        codes.retain(LoginCode::holds);
        let is_it = |known: &LoginCode| known.code.replace('-', "").eq_ignore_ascii_case(&typed);
        let found = codes.iter().position(is_it)?;
        Some(codes.remove(found).holder)
    }
}

impl LoginCode {
    fn holds(&self) -> bool {
        Instant::now() < self.end
    }
}

/// Returns a code of twelve letters and digits, none of which is taken for another: so many that nobody guesses one while it
/// holds, and wrong guesses need not end it.
fn new_code() -> String {
    let letters = random_bytes::<12>().map(|byte| LETTERS[usize::from(byte) % LETTERS.len()]);
    let text: String = letters.iter().map(|letter| char::from(*letter)).collect();
    format!("{}-{}-{}", &text[..4], &text[4..8], &text[8..])
}

/// The letters of codes: 32, so that each is as likely as another.
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const CODE_HOLDS: Duration = Duration::from_mins(5);
const SERVED_WITHIN: Duration = Duration::from_secs(5);
const MAX_CODES: usize = 16;
