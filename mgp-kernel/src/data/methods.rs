//! The methods by which a server asks for the address of data again, keeps it longer, or gives it up.

use mgp_types::ext::ImportData;
use mgp_types::mgp::{ServerId, Timestamp};
use mgp_types::{Error, Object, Request, Response, code};
use serde::{Deserialize, Serialize};

use super::DataBroker;
use super::broker::{TTL, error, unknown};

/// The params of `mgp/data/resolve`, `mgp/data/renew` and `mgp/data/release`.
#[derive(Debug, Deserialize)]
struct NamedData {
    #[serde(flatten)]
    named: ImportData,
    /// The server that reads the data: the one that asks, or nobody else.
    audience: Option<String>,
}

/// The result of `mgp/data/resolve` and `mgp/data/renew`.
#[derive(Debug, Serialize)]
struct ResolvedData {
    access_url: Box<str>,
    expires_at: Timestamp,
}

impl DataBroker {
    /// Returns the answer to a request of `server` about data that an agent handed to it.
    ///
    /// # Errors
    /// 3021: nothing of this name was handed to the server; 3022: it is over; 3023: the server asks for another one; -32601:
    /// there is no such method, or data does not go from server to server here.
    pub(crate) fn answer_server(&self, server: &ServerId, request: &Request) -> Result<Response, Error> {
        let store = self.served.get().filter(|_| self.is_on());
        let store = store.ok_or_else(|| Error::method_not_found(&request.method))?;
        let NamedData { named, audience } = request.body()?;
        if audience.is_some_and(|audience| audience != server.as_str()) {
            return Err(error(code::REFERENCE_FORBIDDEN, "a server asks for data for itself alone"));
        }
        let held = self.grants.of(&named.ref_id, &named.origin_server, server).ok_or_else(unknown)?;
        match request.method.as_str() {
            "mgp/data/resolve" => {}
            "mgp/data/renew" => {
                let renewed = store.renew(&held, TTL)?;
                renewed.expires_at.into_iter().for_each(|end| self.grants.prolong(&held, end));
            }
            "mgp/data/release" => {
                self.give_up(&held);
                self.grants.remove(&held);
                return Ok(Response::new(Object::new().to_raw()));
            }
            _ => return Err(Error::method_not_found(&request.method)),
        }
        let access = store.grant(&held, server.as_str())?;
        let resolved = ResolvedData { access_url: access.access_url, expires_at: access.expires_at };
        Response::with_body(&resolved)
    }
}
