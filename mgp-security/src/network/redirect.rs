//! The redirects of a request, each judged like its first URL.

use url::Url;

use crate::Finding;

use super::{NetworkPolicy, target};

/// The redirects of one request. Each target is judged like the first URL, and the number of redirects is limited.
///
/// ```
/// use mgp_security::network::{NetworkPolicy, Redirects};
///
/// let policy = NetworkPolicy::default();
/// let mut redirects = Redirects::new("https://example.com/a", &policy)?;
/// assert_eq!(redirects.follow("/b")?, "https://example.com/b");
/// assert_eq!(redirects.follow("http://169.254.169.254/").unwrap_err().rule, "metadata-endpoint");
/// # Ok::<(), mgp_security::Finding>(())
/// ```
#[derive(Debug)]
pub struct Redirects<'p> {
    at: Url,
    policy: &'p NetworkPolicy,
    left: u8,
}

impl<'p> Redirects<'p> {
    /// Begins at `url`, which is checked as well.
    pub fn new(url: &str, policy: &'p NetworkPolicy) -> Result<Self, Finding> {
        Ok(Self { at: target::parse(url, policy)?, policy, left: MAX_HOPS })
    }

    /// Follows a redirect to the value of the header `Location`, and returns the resulting absolute URL.
    pub fn follow(&mut self, location: &str) -> Result<&str, Finding> {
        self.left = self.left.checked_sub(1).ok_or_else(|| {
            Finding::new("too-many-redirects", "the URL leads on and on: use the one it should end at")
        })?;
        self.at = next(&self.at, location, self.policy)?;
        Ok(self.at.as_str())
    }
}

fn next(from: &Url, location: &str, policy: &NetworkPolicy) -> Result<Url, Finding> {
    target::check_spelling(location)?;
    // Only a location without a host of its own is joined; joining others would repair text that ought to be refused.
    let begins_path =
        location.starts_with('/') && !location.starts_with("//") && !location.starts_with("/\\");
    let names_host = location.contains(':') || location.contains('\\') || location.starts_with("//");
    let to = if begins_path || !names_host {
        let joined = from.join(location).map_err(|_| {
            Finding::new(
                "ambiguous-url",
                "the server redirects to something that is no URL: use another source",
            )
        })?;
        target::parse(joined.as_str(), policy)?
    } else if location.starts_with("//") {
        target::parse(&format!("{}:{location}", from.scheme()), policy)?
    } else {
        target::parse(location, policy)?
    };
    if is_encrypted(from) && !is_encrypted(&to) {
        return Err(Finding::new(
            "downgrade",
            "the server redirects from an encrypted connection to one that is not: use another source",
        ));
    }
    Ok(to)
}

fn is_encrypted(url: &Url) -> bool {
    matches!(url.scheme(), "https" | "wss")
}

/// The largest number of redirects of one request. Curl follows 50 by default; no honest request needs more than this.
const MAX_HOPS: u8 = 10;
