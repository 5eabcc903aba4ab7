//! The parameters of the methods, read member by member, so that an error names the wrong one.

use mgp_types::mgp::{
    DiscoverTools, EvictTools, RequestTools, RiskLevel, SearchStrategy, ServerState, ToolFilter,
    ToolRequirements, TraceId,
};
use mgp_types::{Error, Object};
use serde::de::DeserializeOwned;

const LONGEST_QUERY: usize = 4096;
const A_COUNT: &str = "a number of at least 1";

/// Reads the parameters of `mgp/tools/discover`.
pub(super) fn discover(params: &Object) -> Result<DiscoverTools, Error> {
    let mut wanted = DiscoverTools::new(text(params, "query", LONGEST_QUERY)?.unwrap_or_default());
    wanted.strategy =
        word(params, "strategy", SearchStrategy::read, "keyword, semantic, category or hybrid")?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is held to the range")]
    let count = |most: f64| (1.0..=f64::from(u32::MAX)).contains(&most).then_some(most as u32);
    let most = member::<f64>(params, "max_results", A_COUNT)?;
    wanted.max_results =
        most.map(|most| count(most).ok_or_else(|| wrong("max_results", A_COUNT))).transpose()?;
    if let Some(filter) = member::<Object>(params, "filter", "an object")? {
        wanted.filter = tool_filter(&filter)?;
    }
    wanted.explain = member(params, "explain", "true or false")?.unwrap_or_default();
    if wanted.query.trim().is_empty() && wanted.strategy != Some(SearchStrategy::Category) {
        let hint = "`query` is empty: describe the need, or browse with the strategy `category`";
        return Err(Error::invalid_params(hint));
    }
    Ok(wanted)
}

const LONGEST_WORD: usize = 256;

/// Reads the parameters of `mgp/tools/request`.
pub(super) fn request(params: &Object) -> Result<RequestTools, Error> {
    let mut wanted = RequestTools::default();
    if let Some(reason) = text(params, "reason", LONGEST_WORD)? {
        wanted.reason = reason.as_str().into();
    }
    wanted.context = text(params, "context", LONGEST_QUERY)?.unwrap_or_default();
    if let Some(requirements) = member::<Object>(params, "requirements", "an object")? {
        wanted.requirements = tool_requirements(&requirements)?;
    }
    wanted.task_trace_id = word(params, "task_trace_id", |id| id.parse::<TraceId>().ok(), "a UUID")?;
    if wanted.requirements.capabilities.is_empty() && wanted.context.trim().is_empty() {
        let hint =
            "the request is empty: name `requirements.capabilities`, or describe the task in `context`";
        return Err(Error::invalid_params(hint));
    }
    Ok(wanted)
}

const MAX_EVICTED: usize = 1024;

/// Reads the parameters of `mgp/tools/session/evict`.
pub(super) fn evict(params: &Object) -> Result<EvictTools, Error> {
    let tools = texts(params, "tools", MAX_EVICTED)?;
    let mut evict = EvictTools::new(tools.ok_or_else(|| wrong("tools", "a list of names"))?);
    evict.reason = text(params, "reason", LONGEST_WORD)?;
    Ok(evict)
}

const MAX_WORDS: usize = 32;

fn tool_filter(members: &Object) -> Result<ToolFilter, Error> {
    let mut filter = ToolFilter::default();
    filter.categories = texts(members, "categories", MAX_WORDS)?.unwrap_or_default();
    filter.risk_level_max = risk(members, "risk_level_max")?;
    filter.status = word(members, "status", ServerState::read, "the state of a server, like `connected`")?;
    Ok(filter)
}

fn tool_requirements(members: &Object) -> Result<ToolRequirements, Error> {
    let mut requirements = ToolRequirements::default();
    requirements.capabilities = texts(members, "capabilities", MAX_WORDS)?.unwrap_or_default();
    requirements.capabilities.retain(|capability| !capability.trim().is_empty());
    requirements.input_types = texts(members, "input_types", MAX_WORDS)?.unwrap_or_default();
    requirements.output_types = texts(members, "output_types", MAX_WORDS)?.unwrap_or_default();
    requirements.preferred_risk_level = risk(members, "preferred_risk_level")?;
    Ok(requirements)
}

/// Reads a risk level. An unknown level is an error: it must not become the highest one.
fn risk(members: &Object, name: &str) -> Result<Option<RiskLevel>, Error> {
    let known = |word: &str| Some(RiskLevel::read(word)).filter(|level| level.as_str() == word);
    word(members, name, known, "safe, moderate or dangerous")
}

fn word<T>(
    members: &Object,
    name: &str,
    read: impl FnOnce(&str) -> Option<T>,
    expected: &str,
) -> Result<Option<T>, Error> {
    let Some(word) = member::<String>(members, name, expected)? else { return Ok(None) };
    read(&word).map(Some).ok_or_else(|| wrong(name, expected))
}

fn text(members: &Object, name: &str, longest: usize) -> Result<Option<String>, Error> {
    Ok(member::<String>(members, name, "a string")?.map(|text| shortened(text, longest)))
}

fn texts(members: &Object, name: &str, most: usize) -> Result<Option<Vec<String>>, Error> {
    let Some(texts) = member::<Vec<String>>(members, name, "a list of strings")? else { return Ok(None) };
    if texts.len() > most {
        return Err(Error::invalid_params(format!("`{name}` may have at most {most} entries")));
    }
    Ok(Some(texts.into_iter().map(|text| shortened(text, LONGEST_WORD)).collect()))
}

fn member<T: DeserializeOwned>(members: &Object, name: &str, expected: &str) -> Result<Option<T>, Error> {
    let Some(raw) = members.get(name).filter(|raw| !raw.is_null()) else { return Ok(None) };
    raw.to().map(Some).map_err(|_| wrong(name, expected))
}

fn wrong(name: &str, expected: &str) -> Error {
    Error::invalid_params(format!("`{name}` must be {expected}"))
}

/// Cuts a text between characters. A search makes no use of the rest.
fn shortened(mut text: String, longest: usize) -> String {
    text.truncate(text.floor_char_boundary(longest));
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn object(value: &Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn complaint<T: std::fmt::Debug>(read: fn(&Object) -> Result<T, Error>, params: &Value) -> String {
        let error = read(&object(params)).unwrap_err();
        assert_eq!(error.code(), mgp_types::code::INVALID_PARAMS);
        error.message().to_owned()
    }

    // covers: MGP-16.5-02..07
    #[test]
    fn every_parameter_of_a_search_is_read() {
        let wanted = discover(&object(&json!({
            "query": "read file contents from disk",
            "strategy": "semantic",
            "max_results": 5.0,
            "filter": { "categories": ["filesystem"], "risk_level_max": "moderate", "status": "connected" }
        })))
        .unwrap();
        let mut filter = ToolFilter::default();
        filter.categories = vec!["filesystem".into()];
        filter.risk_level_max = Some(RiskLevel::Moderate);
        filter.status = Some(ServerState::Connected);
        let same = DiscoverTools::new("read file contents from disk")
            .strategy(SearchStrategy::Semantic)
            .max_results(5)
            .filter(filter);
        assert_eq!(wanted, same);
        let browse = discover(&object(&json!({ "strategy": "category", "max_results": null }))).unwrap();
        assert_eq!(browse.query, "");
    }

    #[test]
    fn whoever_sends_a_wrong_member_is_told_which_it_was() {
        for (params, named) in [
            (json!({ "query": 1 }), "`query`"),
            (json!({}), "`query`"),
            (json!({ "query": " " }), "`query`"),
            (json!({ "query": "x", "strategy": "magic" }), "`strategy`"),
            (json!({ "query": "x", "max_results": "5" }), "`max_results`"),
            (json!({ "query": "x", "max_results": 0 }), "`max_results`"),
            (json!({ "query": "x", "max_results": -1 }), "`max_results`"),
            (json!({ "query": "x", "filter": [] }), "`filter`"),
            (json!({ "query": "x", "filter": { "categories": "fs" } }), "`categories`"),
            (json!({ "query": "x", "filter": { "risk_level_max": "none" } }), "`risk_level_max`"),
            (json!({ "query": "x", "filter": { "status": "asleep" } }), "`status`"),
        ] {
            let message = complaint(discover, &params);
            assert!(message.contains(named), "{params}: {message}");
        }
        for (params, named) in [
            (json!({}), "`context`"),
            (json!({ "context": {} }), "`context`"),
            (json!({ "requirements": { "capabilities": ["", " "] } }), "`requirements.capabilities`"),
            (json!({ "requirements": { "capabilities": [1] } }), "`capabilities`"),
            (json!({ "requirements": { "capabilities": vec!["x"; 33] } }), "`capabilities`"),
            (
                json!({ "context": "x", "requirements": { "preferred_risk_level": "low" } }),
                "`preferred_risk_level`",
            ),
            (json!({ "context": "x", "task_trace_id": "7" }), "`task_trace_id`"),
        ] {
            let message = complaint(request, &params);
            assert!(message.contains(named), "{params}: {message}");
        }
        assert!(complaint(evict, &json!({})).contains("`tools`"));
        assert!(complaint(evict, &json!({ "tools": "x" })).contains("`tools`"));
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let wanted = discover(&object(&json!({ "query": "あ".repeat(40_000) }))).unwrap();
        assert_eq!(wanted.query.len(), LONGEST_QUERY / 3 * 3);
    }
}
