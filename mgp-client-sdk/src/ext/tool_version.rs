//! The facts that a server tells by extensions: its manifest, tools of a known version, and events by `subscribe_notify`.

use std::time::Duration;

use mgp_types::ext::{
    ExtensionId, ExtensionIds, GetManifest, OwnSubscriptions, ServiceManifest, SubscriptionAnswer,
    SubscriptionRequest, SubscriptionStatus,
};
use mgp_types::mcp::Tool;
use mgp_types::mgp::{EventSubscribed, Timestamp, Version, method};
use mgp_types::{Error, Object, Request, Response, RpcService, code};

use crate::subscription::OpenedEvents;
use crate::{Call, Client, ClientBuilder, EventStream};

impl<S: RpcService> Client<S> {
    /// Finds a listed tool by its name, or by its name and the least version that will do: `weather@^1.2` is any version
    /// from 1.2.0 on and before 2.0.0. [`call_listed`](Client::call_listed) calls the tool.
    ///
    /// The version is the one in the tool's `_meta` under `version`.
    ///
    /// # Errors
    /// The server has no such tool, or its version is none of those that will do, or is not known; nothing is called then.
    pub async fn find_tool(&self, wanted: &str) -> Result<Tool, Error> {
        let (name, least) = match wanted.split_once('@') {
            Some((name, least)) => (name, Some(least_version(wanted, least)?)),
            None => (wanted, None),
        };
        let mut tools = self.list_tools().await?.into_iter();
        let unknown = || Error::new(code::TOOL_NOT_FOUND, format!("the server lists no tool `{name}`"));
        let tool = tools.find(|tool| tool.name == name).ok_or_else(unknown)?;
        match least {
            Some(least) => checked(tool, least),
            None => Ok(tool),
        }
    }

    /// Asks for the service manifest: one document about all tools, with their limits, costs and scopes.
    ///
    /// The manifest is cached as long as it says, and asked for again once the server tells that it changed;
    /// [`clear_cache`](Client::clear_cache) forgets it earlier.
    pub fn manifest(&self) -> Call<S, ServiceManifest> {
        self.call(Request::with_body(method::MANIFEST_GET, &GetManifest::default()), Response::body)
    }

    /// Subscribes to events by name, filter and time, in the same way in both eras. From a server that does not push them,
    /// they are fetched in the interval that it names.
    ///
    /// The stream gives [`Gone`](crate::EventItem::Gone) when the server ends the subscription, because its time is over
    /// or for a reason of its own. What an event's [`action_hint`](crate::mgp::Event::action_hint) suggests is left to the
    /// application: nothing is called.
    ///
    /// # Errors
    /// The server does not declare the extension (-32601), has none of the events (4004), already has a subscription with
    /// the id (3026), refuses, or cannot be reached.
    pub async fn subscribe_events(&self, wanted: &SubscriptionRequest) -> Result<EventStream<S>, Error> {
        if !ExtensionIds::read(&self.capabilities()).has(ExtensionId::SubscribeNotify) {
            let message = "the server does not declare `subscribe_notify`: subscribe with `Client::events`";
            return Err(Error::new(code::METHOD_NOT_FOUND, message));
        }
        let read = |answer: Object| opened(&answer, &wanted.events);
        self.open_events(wanted.in_words_of_mgp()?, &wanted.in_both_words(), read).await
    }

    /// Lists the subscriptions of this client, and all events of the server.
    pub fn event_subscriptions(&self) -> Call<S, OwnSubscriptions> {
        self.call(Request::with_body(OwnSubscriptions::METHOD, &Object::new()), Response::body)
    }
}

/// Reads the least version of a tool that will do; each later one of the same major number does too.
fn least_version(wanted: &str, least: &str) -> Result<Version, Error> {
    let least = least.strip_prefix('^').filter(|least| !least.contains(['-', '+']));
    least.and_then(|least| least.parse().ok()).ok_or_else(|| {
        Error::invalid_params(format!(
            "`{wanted}` names no version of a tool: write NAME@^MAJOR.MINOR, like `weather@^1.2`"
        ))
    })
}

fn checked(tool: Tool, least: Version) -> Result<Tool, Error> {
    let name = &tool.name;
    let written = tool.meta.as_ref().and_then(|meta| meta.get("version")?.to_text());
    let found = written.and_then(|written| Version::strict(&written).ok());
    let message = match found {
        Some(found) if found.is_compatible_with(least) && found >= least => return Ok(tool),
        Some(found) => format!(
            "`{name}` is version {found} at this server, and {least} or later of the same major number is wanted"
        ),
        None => format!(
            "`{name}` does not say which version it is, and {least} or later is wanted: ask for `{name}` to take any"
        ),
    };
    Err(Error::new(code::TOOL_NOT_FOUND, message))
}

impl<L, I> ClientBuilder<L, I> {
    /// Declares that the client subscribes to events with filters and a time: [`Client::subscribe_events`].
    pub fn event_subscriptions(self) -> Self {
        self.extension(ExtensionId::SubscribeNotify.id(), &Object::new())
    }
}

impl<S: RpcService> EventStream<S> {
    /// Returns the moment at which the server ends the subscription; `None` if the server did not tell.
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

/// Reads an answer in either vocabulary.
fn opened(answer: &Object, wanted: &[String]) -> Result<OpenedEvents, Error> {
    let response = Response::new(answer.to_raw());
    let Ok(subscription) = answer.to::<SubscriptionAnswer>() else {
        // The server speaks MGP alone.
        return Ok(OpenedEvents { answer: response.body()?, poll_interval: None, expires_at: None });
    };
    if subscription.status == SubscriptionStatus::Denied {
        let reason = subscription.reason.unwrap_or_else(|| "the server has none of these events".into());
        return Err(Error::new(code::RESOURCE_NOT_FOUND, String::from(reason)));
    }
    let mut answer = answer.to::<EventSubscribed>().unwrap_or_else(|_| subscription.in_words_of_mgp(wanted));
    if !subscription.supported {
        // Events that are asked for are asked for by their numbers, which begin with 1.
        answer.last_seq.get_or_insert(0);
    }
    let seconds = subscription.poll_interval_seconds.filter(|_| !subscription.supported);
    let poll_interval = seconds.map(|seconds| Duration::from_secs(u64::from(seconds.max(1))));
    Ok(OpenedEvents { answer, poll_interval, expires_at: subscription.expires_at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_caret_and_one_to_three_numbers_are_understood() {
        assert_eq!(least_version("x@^1.2", "^1.2").unwrap(), Version::new(1, 2, 0));
        for wrong in ["", "1.2", "~1.2", "^", "^v1", "latest", "^1.2.3.4", "^1.2.3-beta", "^+1", "^1..0"] {
            assert!(least_version("x", wrong).is_err(), "{wrong}");
        }
    }
}
