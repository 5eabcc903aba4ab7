use mgp_types::mgp::{AgentId, EventType, Outcome, ServerId, Timestamp, TraceId};

use super::entry::EventFacets;

/// Which events are asked for. Without any condition it is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Of one of these types; none means any.
    pub event_types: Vec<EventType>,
    /// Done by this agent.
    pub agent_id: Option<AgentId>,
    /// Done to this server.
    pub server_id: Option<ServerId>,
    /// That ended so.
    pub result: Option<Outcome>,
    /// At this time or later.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
    /// In this chain of requests.
    pub trace_id: Option<TraceId>,
}

impl Filter {
    /// Whether an event is asked for.
    pub(crate) fn matches(&self, facets: &EventFacets) -> bool {
        let Self { event_types, agent_id, server_id, result, since, until, trace_id } = self;
        let is_type = |wanted: &EventType| wanted.as_str() == facets.event_type.as_str();
        (event_types.is_empty() || event_types.iter().any(is_type))
            && agent_id.as_ref().is_none_or(|wanted| facets.agent.as_deref() == Some(wanted.as_str()))
            && server_id.as_ref().is_none_or(|wanted| facets.server.as_ref() == Some(wanted))
            && result.is_none_or(|wanted| wanted == facets.result)
            && since.is_none_or(|since| facets.millis >= since.as_millis())
            && until.is_none_or(|until| facets.millis < until.as_millis())
            && trace_id.is_none_or(|wanted| wanted.as_u128() == facets.trace)
    }
}

/// A question to the log: which events, from where, and how many.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// Which events.
    pub filter: Filter,
    /// In which order: that of the log, which a clock that is set back does not change.
    pub order: Order,
    /// Only what comes behind this number in that order: the number of the last event of the page before.
    pub behind: Option<u64>,
    /// How many at most; never more than [`Query::MAX_LIMIT`].
    pub limit: usize,
}

impl Query {
    /// How many events are given at once at most.
    pub const MAX_LIMIT: usize = 1_000;

    /// The last fifty events that `filter` asks for.
    pub const fn new(filter: Filter) -> Self {
        Self { filter, order: Order::NewestFirst, behind: None, limit: 50 }
    }

    /// The first events with a number above `seq`, in the order of the log.
    pub const fn after(filter: Filter, seq: u64, limit: usize) -> Self {
        Self { filter, order: Order::OldestFirst, behind: Some(seq), limit }
    }
}

/// An order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two directions")]
pub enum Order {
    /// By falling number.
    NewestFirst,
    /// By rising number.
    OldestFirst,
}

/// What events are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupBy {
    /// What happened.
    EventType,
    /// The agent that did it; what others did is in the total only.
    AgentId,
    /// The server it was done to; what was done to none is in the total only.
    ServerId,
    /// How it ended.
    Result,
    /// The hour it happened in.
    Hour,
}
