//! Subscriptions to events of any name: the words that the extension `subscribe_notify` adds to MGP's events.

use serde::Serialize;
use serde_json::Value;

use super::{nearest_seconds, seconds, written};
use crate::macros::record;
use crate::macros::words::words;
use crate::mgp::{Event, EventSeverity, EventSubscribe, EventSubscribed, SubscriptionId, Timestamp};
use crate::{Error, Object, RawJson};

const DEFAULT_TTL_SECONDS: u32 = 3600;
const MAX_TTL_SECONDS: u32 = 86_400;
const MAX_ID_BYTES: usize = 128;
const MAX_FILTER_MEMBERS: usize = 32;
const MAX_FILTER_BYTES: usize = 4096;

/// The member of a filter that is about the severity of events, and not about their payload.
const MIN_SEVERITY: &str = "min_severity";

record! {
    /// The params of `mgp/events/subscribe` in the words of the extension.
    pub struct SubscriptionRequest {
        /// The id that the client chose for the subscription.
        optional subscription_id: SubscriptionId;
        /// The wanted events: names, and patterns like those of MGP's channels.
        plain events: Vec<String>;
        /// The members that the payload of a wanted event has, with these values; `min_severity` is the least severity.
        #[serde(skip_serializing_if = "Object::is_empty")]
        default filter: Object;
        /// The time in seconds after which the subscription ends, from a second to a day. A number beyond that is read as
        /// the nearest one.
        #[serde(default = "seconds::<DEFAULT_TTL_SECONDS>")]
        #[serde(deserialize_with = "nearest_seconds::<MAX_TTL_SECONDS, _>")]
        plain ttl_seconds: u32;
        /// The number of the last event that arrived, to go on with a subscription in place of opening one.
        optional after_seq: u64;
    }
}

impl SubscriptionRequest {
    /// The member that tells the words of the extension from those of MGP.
    pub const EVENTS: &'static str = "events";

    /// Asks for these events, for an hour.
    pub fn new<I: IntoIterator<Item: Into<String>>>(events: I) -> Self {
        Self {
            subscription_id: None,
            events: events.into_iter().map(Into::into).collect(),
            filter: Object::new(),
            ttl_seconds: DEFAULT_TTL_SECONDS,
            after_seq: None,
        }
    }

    crate::setters! { #[must_use] self =>
        /// Sets the id of the subscription.
        pub fn with_id(id: impl Into<String>) => self.subscription_id = Some(SubscriptionId::new(id.into()));

        /// Sets the time after which the subscription ends.
        pub fn with_ttl_seconds(seconds: u32) => self.ttl_seconds = seconds.clamp(1, MAX_TTL_SECONDS);

        /// Narrows the wish to events whose payload has this member.
        pub fn with_member(name: impl Into<String>, value: &(impl Serialize + ?Sized)) =>
            self.filter.set(name.into(), written(value));
    }

    /// Reads the params of a request.
    ///
    /// # Errors
    ///
    /// -32602 for params of another form, an id that is no short text, or a filter with too much in it.
    pub fn read(params: &Object) -> Result<Self, Error> {
        let request: Self = params.to().map_err(|error| Error::invalid_params(error.to_string()))?;
        let is_id = |id: &SubscriptionId| {
            (1..=MAX_ID_BYTES).contains(&id.as_str().len())
                && id.as_str().bytes().all(|byte| byte.is_ascii_graphic())
        };
        if !request.subscription_id.as_ref().is_none_or(is_id) {
            return Err(Error::invalid_params(
                "`subscription_id` must be 1 to 128 ASCII characters without spaces: choose another id",
            ));
        }
        if request.filter.iter().count() > MAX_FILTER_MEMBERS
            || request.filter.to_raw().as_bytes().len() > MAX_FILTER_BYTES
        {
            return Err(Error::invalid_params(
                "`filter` has at most 32 members and 4096 bytes: ask for fewer members",
            ));
        }
        Ok(request)
    }

    /// Returns the same wish in the words of MGP, as far as they go.
    ///
    /// # Errors
    ///
    /// -32602 for a severity that nobody knows.
    pub fn in_words_of_mgp(&self) -> Result<EventSubscribe, Error> {
        let mut wish = EventSubscribe::new(self.events.iter().cloned());
        if let Some(severity) = self.filter.get(MIN_SEVERITY) {
            let severity: EventSeverity =
                severity.to().map_err(|error| Error::invalid_params(error.to_string()))?;
            wish = wish.with_min_severity(severity);
        }
        Ok(match (&self.subscription_id, self.after_seq) {
            (Some(id), Some(after_seq)) => wish.resuming(id.clone(), after_seq),
            _ => wish,
        })
    }

    /// Returns the params in both vocabularies, for a server of either kind.
    pub fn in_both_words(&self) -> Object {
        let mut params = Object::from_value(self).unwrap_or_default();
        params.set("channels", written(&self.events));
        params
    }
}

/// The members that the payload of an event must have, with their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PayloadFilter(Vec<(Box<str>, Value)>);

impl PayloadFilter {
    /// Creates the filter of a request.
    ///
    /// # Errors
    ///
    /// -32602 for a value that cannot be compared.
    pub fn new(filter: &Object) -> Result<Self, Error> {
        let members = filter.iter().filter(|(name, _)| name != MIN_SEVERITY).map(|(name, value)| {
            let value: Value = value.to().map_err(|error| Error::invalid_params(error.to_string()))?;
            Ok::<(Box<str>, Value), Error>((name.into(), value))
        });
        members.collect::<Result<_, Error>>().map(Self)
    }

    /// Returns whether an event with this payload passes.
    pub fn admits(&self, payload: &Object) -> bool {
        self.0.iter().all(|(name, wanted)| {
            payload.get(name).and_then(|value| value.to::<Value>().ok()).is_some_and(|value| value == *wanted)
        })
    }
}

words! {
    /// True if there is a subscription now.
    SubscriptionStatus {
        /// Events come.
        Active = "active",
        /// There is no subscription.
        Denied = "denied",
    }

    /// The reason for which a subscription ended.
    SubscriptionEnd {
        /// The time of the subscription is over.
        Ttl = "ttl",
        /// The server needs the room.
        ResourcePressure = "resource_pressure",
        /// The server stops.
        Shutdown = "shutdown",
        /// The client may not have the events any more.
        Revoked = "revoked",
    }
}

record! {
    /// The result of `mgp/events/subscribe` in the words of the extension.
    pub struct SubscriptionAnswer: Eq {
        /// The id of the subscription.
        required subscription_id: SubscriptionId;
        /// True if there is a subscription now.
        required status: SubscriptionStatus;
        /// The moment at which the subscription ends.
        optional expires_at: Timestamp;
        /// All events of the server.
        list supported_events: String;
        /// The reason for which there is no subscription.
        optional reason: Box<str>;
        /// True if the server pushes events; if not, the client asks for them.
        #[serde(default = "crate::mgp::yes")]
        plain supported: bool = true;
        /// The seconds after which the client asks again.
        optional poll_interval_seconds: u32;
        /// The method that the client asks with: its params are the `subscription_id`, and as a cursor the number of the
        /// last event, `after_seq`.
        optional poll_method: Box<str>;
    }

    /// The params of `notifications/mgp.event.terminated`: a subscription ended, and the client did not end it.
    pub struct SubscriptionEnded: Eq {
        /// The subscription.
        plain subscription_id: SubscriptionId;
        /// The reason for which the subscription ended; `None` for a reason of a later version.
        #[serde(deserialize_with = "crate::mgp::if_readable")]
        optional reason: SubscriptionEnd;
        /// True if the client may subscribe again.
        default resubscribe: bool;
    }

    /// A subscription in the list of its owner.
    pub struct OwnSubscription {
        /// The id.
        required subscription_id: SubscriptionId;
        /// The names and patterns of the events.
        required events: Vec<String>;
        /// The moment at which the subscription ends, if it has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        required expires_at: Option<Timestamp>;
        /// The number of the last event so far.
        required last_seq: u64;
    }

    /// The result of `mgp/events/list`: the subscriptions of the caller, and all events that it may subscribe to.
    pub struct OwnSubscriptions as exhaustive: Default {
        /// The subscriptions, by their ids.
        plain subscriptions: Vec<OwnSubscription>;
        /// All events of the server that the caller may know of.
        plain supported_events: Vec<String>;
    }
}

impl SubscriptionAnswer {
    /// Tells what MGP's answer says; there is a subscription if one of the wanted events exists.
    pub fn of(answer: &EventSubscribed) -> Self {
        let is_denied = answer.subscribed.is_empty();
        let reason = "the server has none of these events: choose among `supported_events`";
        let status = if is_denied { SubscriptionStatus::Denied } else { SubscriptionStatus::Active };
        Self {
            supported_events: answer.available.clone(),
            reason: is_denied.then(|| reason.into()),
            ..Self::new(answer.subscription_id.clone(), status)
        }
    }

    /// Returns the answer in both vocabularies.
    pub fn beside(&self, answer: &EventSubscribed) -> RawJson {
        let mut both = Object::from_value(answer).unwrap_or_default();
        both.set_all(&Object::from_value(self).unwrap_or_default());
        both.to_raw()
    }

    /// Returns the answer in the words of MGP, for a server that does not speak them.
    pub fn in_words_of_mgp(&self, wanted: &[String]) -> EventSubscribed {
        let mut answer = EventSubscribed::new(self.subscription_id.clone());
        match self.status {
            SubscriptionStatus::Active => answer.subscribed = wanted.to_vec(),
            SubscriptionStatus::Denied => answer.unsupported = wanted.to_vec(),
        }
        answer.available.clone_from(&self.supported_events);
        answer
    }
}

/// Returns the params of the notification of an event in both vocabularies; `after_gap` says that events before it are
/// lost.
pub fn event_in_both_words(event: &Event, after_gap: bool) -> Object {
    let mut params = Object::from_value(event).unwrap_or_default();
    params.set("type", written("event"));
    params.set("event", written(&event.channel));
    params.set("payload", event.data.to_raw());
    if let Some(seq) = event.seq {
        params.set("seq", written(&seq));
    }
    if after_gap {
        params.set("gap", written(&true));
    }
    params
}

impl SubscriptionEnded {
    /// The method of the notification.
    pub const METHOD: &'static str = "notifications/mgp.event.terminated";

    /// Creates the news that the time of a subscription is over, which the client may open again.
    pub const fn in_time(subscription_id: SubscriptionId) -> Self {
        Self { subscription_id, reason: Some(SubscriptionEnd::Ttl), resubscribe: true }
    }
}

impl OwnSubscriptions {
    /// The method.
    pub const METHOD: &'static str = "mgp/events/list";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mgp::ActionHint;

    fn object(json: &str) -> Object {
        Object::parse(json.to_owned()).unwrap()
    }

    // covers: EXT-15-01
    #[test]
    fn a_request_has_the_members_of_the_specification_and_bounds() {
        let json = concat!(
            r#"{"subscription_id":"sub-git-main-commits","events":["commit_to_main"],"#,
            r#""filter":{"repository":"frontend-app"},"ttl_seconds":3600}"#
        );
        let request = SubscriptionRequest::read(&object(json)).unwrap();
        assert_eq!(serde_json::to_string(&request).unwrap(), json);
        let made = SubscriptionRequest::new(["commit_to_main"])
            .with_id("sub-git-main-commits")
            .with_member("repository", "frontend-app");
        assert_eq!(made, request);
        let ttl = |seconds: &str| {
            let json = format!(r#"{{"events":["a"],"ttl_seconds":{seconds}}}"#);
            SubscriptionRequest::read(&object(&json)).unwrap().ttl_seconds
        };
        assert_eq!(["-5", "0", "60", "90000"].map(ttl), [1, 1, 60, 86_400]);
        let long = format!(r#"{{"events":["a"],"subscription_id":"{}"}}"#, "x".repeat(129));
        for wrong in ["{}", r#"{"events":["a"],"subscription_id":""}"#, r#"{"events":"a"}"#, &long] {
            assert_eq!(SubscriptionRequest::read(&object(wrong)).unwrap_err().code(), -32602, "{wrong}");
        }
    }

    // covers: EXT-15-02
    #[test]
    fn an_answer_tells_active_or_denied_in_both_vocabularies() {
        let mut answer = EventSubscribed::new(SubscriptionId::new("s1"));
        answer.available = vec!["commit_to_main".into()];
        let denied: Value = SubscriptionAnswer::of(&answer).beside(&answer).to().unwrap();
        assert_eq!((&denied["status"], denied["reason"].is_string()), (&Value::from("denied"), true));
        answer.subscribed = vec!["commit_to_main".into()];
        let active: Value = SubscriptionAnswer::of(&answer).beside(&answer).to().unwrap();
        assert_eq!(active["status"], "active");
        assert_eq!(
            (&active["subscribed"], &active["supported_events"]),
            (&active["available"], &active["available"])
        );
    }

    // covers: EXT-15-05
    #[test]
    fn a_filter_compares_members_and_their_values() {
        let filter = object(r#"{"repository":"frontend-app","labels":["a"],"min_severity":"info"}"#);
        let filter = PayloadFilter::new(&filter).unwrap();
        assert!(filter.admits(&object(r#"{"labels": [ "a" ],"repository":"frontend-app","sha":"1"}"#)));
        for other in [r#"{"repository":"frontend-app"}"#, r#"{"repository":"backend","labels":["a"]}"#, "{}"]
        {
            assert!(!filter.admits(&object(other)), "{other}");
        }
        assert!(PayloadFilter::default().admits(&Object::new()));
    }

    // covers: EXT-15-03
    #[test]
    fn an_event_is_written_in_both_vocabularies_and_read_in_either() {
        let mut event = Event::new(
            SubscriptionId::new("s1"),
            "commit_to_main",
            Timestamp::EPOCH,
            object(r#"{"sha":"a"}"#),
        )
        .with_seq(1);
        event.action_hint =
            Some(Box::new(ActionHint { recommended_tool: Some("pull".into()), ..ActionHint::default() }));
        let both = event_in_both_words(&event, false);
        assert_eq!(both.to::<Event>().unwrap(), event);
        let json: Value = both.to().unwrap();
        assert_eq!(
            (&json["type"], &json["event"], &json["seq"]),
            (&"event".into(), &"commit_to_main".into(), &1.into())
        );
        assert_eq!((&json["payload"], json.get("gap")), (&json["data"], None));
        let mut own = both;
        for member in ["channel", "data", "_mgp.seq"] {
            own.remove(member);
        }
        assert_eq!(own.to::<Event>().unwrap(), event);
        own.remove("event");
        assert!(own.to::<Event>().is_err(), "an event has a name");
    }
}
