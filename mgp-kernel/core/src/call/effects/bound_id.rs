//! Ids that agents give to calls and transactions, bound to the agent.
//!
//! The id that a server sees ends in a digest of the agent, the server and the agent's own id. So the kernel keeps
//! no table of transactions that a restart could lose.

use memchr::memmem;
use mgp_types::canonical::Digest;
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Origin, Principal, RawJson, Response, ResultShape};

/// The id of an agent, and the id by which a server knows it.
///
/// A server takes all agents for one caller, the kernel. So each of its ids ends in a digest of the agent, the server and the
/// agent's own id: no agent can name what belongs to another one, and the kernel has to remember nothing for that.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BoundId {
    /// The id that the agent gave.
    pub(super) own: Box<str>,
    /// The id by which the server knows it.
    pub(super) bound: Box<str>,
}

impl BoundId {
    /// Binds an id for `purpose`. The result has the form of ids, too: at most 128 letters, digits and characters of `_-:.`.
    pub(super) fn new(purpose: &str, agent: Option<&Principal>, server: &ServerId, own: &str) -> Self {
        let (kind, name) = agent.map_or(("", ""), |agent| (agent.kind().as_str(), agent.as_str()));
        let parts = ["mgp id of an agent 1", purpose, kind, name, server.as_str(), own];
        let digest = Digest::of_parts(parts.map(str::as_bytes)).to_string();
        let readable: String = own.chars().take(READABLE_CHARS).collect();
        let digits = digest.get(..DIGEST_CHARS).unwrap_or(&digest);
        Self { own: own.into(), bound: format!("{readable}.{digits}").into() }
    }

    /// Writes the agent's id wherever the server's outcome has the other one.
    pub(super) fn restore(&self, outcome: &mut Result<Response, Error>) {
        match outcome {
            Ok(response) => {
                if let Some(result) = self.restored(response.result.as_bytes()) {
                    response.absorb_stamp();
                    response.result = result.into();
                    response.context.shape = ResultShape::Opaque;
                }
            }
            Err(error) if error.origin() == Origin::Peer => {
                let data = error.data().and_then(|data| self.restored(data.as_bytes()));
                let restored = error.clone().with_message(error.message().replace(&*self.bound, &self.own));
                *error = data.into_iter().fold(restored, Error::with_data);
            }
            Err(_) => {}
        }
    }

    /// Returns the JSON with the agent's id in place of the other one; `None` if that is not in it. Both ids consist of
    /// characters that mean nothing to JSON.
    fn restored(&self, json: &[u8]) -> Option<RawJson> {
        memmem::find(json, self.bound.as_bytes())?;
        let text = std::str::from_utf8(json).ok()?;
        Some(RawJson::from_written(text.replace(&*self.bound, &self.own).into_bytes()))
    }
}

/// The most characters of the agent's id that the server's begins with, for whoever reads the log of the server.
const READABLE_CHARS: usize = 95;

/// The hexadecimal digits of the digest: 128 bits.
const DIGEST_CHARS: usize = 32;

#[cfg(test)]
mod tests {
    use mgp_types::ext::TransactionId;

    use super::*;

    fn bound(agent: &str, server: &str, own: &str) -> BoundId {
        BoundId::new("transaction", Some(&Principal::new(agent)), &ServerId::new(server), own)
    }

    #[test]
    fn agents_servers_and_purposes_have_ids_of_their_own_that_have_the_form_of_ids() {
        let long = "x".repeat(128);
        let all = [
            bound("ada", "bank", "tx-1"),
            bound("bob", "bank", "tx-1"),
            bound("ada", "shop", "tx-1"),
            bound("ada", "bank", "tx-2"),
            bound("ada", "bank", &long),
            bound("ada", "bank", &long[..127]),
            BoundId::new("key", Some(&Principal::new("ada")), &ServerId::new("bank"), "tx-1"),
            BoundId::new("transaction", Some(&Principal::operator("ada")), &ServerId::new("bank"), "tx-1"),
            BoundId::new("transaction", None, &ServerId::new("bank"), "tx-1"),
        ];
        for (index, one) in all.iter().enumerate() {
            assert!(one.bound.parse::<TransactionId>().is_ok(), "{one:?}");
            assert!(all[..index].iter().all(|other| other.bound != one.bound), "{one:?}");
        }
        assert_eq!(bound("ada", "bank", "tx-1"), all[0], "an agent finds its own again");
    }

    #[test]
    fn an_agent_that_writes_the_other_ones_id_names_another() {
        let ada = bound("ada", "bank", "tx-1");
        let bob = bound("bob", "bank", &ada.bound);
        assert_ne!(bob.bound, ada.bound);
        assert!(bob.bound.len() > ada.bound.len());
    }

    #[test]
    fn outcomes_have_the_ids_of_the_agent_again() {
        let id = bound("ada", "bank", "tx-1");
        let json = format!(r#"{{"transaction_id":"{0}","note":"{0}, {0}"}}"#, id.bound);
        let mut outcome = Ok(Response::new(RawJson::parse(json.clone()).unwrap()));
        id.restore(&mut outcome);
        assert_eq!(outcome.unwrap().result.as_bytes(), br#"{"transaction_id":"tx-1","note":"tx-1, tx-1"}"#);
        let message = format!("there is no open transaction {}", id.bound);
        let error = Error::from_origin(Origin::Peer, 2020, message);
        let mut outcome = Err(error.with_data(RawJson::parse(json).unwrap()));
        id.restore(&mut outcome);
        let error = outcome.unwrap_err();
        assert_eq!(error.message(), "there is no open transaction tx-1");
        assert!(!String::from_utf8_lossy(error.data().unwrap().as_bytes()).contains(&*id.bound));
    }
}
