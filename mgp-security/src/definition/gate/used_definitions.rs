//! The definitions of a server that a request uses.

use mgp_types::{Error, GateKind, Method, MethodRule, Object, RawJson, Request, RequestConcern};

use crate::definition::{DefinitionKind, DefinitionName};
use crate::tool::subscriptions;

/// The definitions that a request uses, by the names that the server gives them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum UsedDefinitions {
    /// The tool that is called, which the request names.
    Tool,
    /// A prompt, or a template, or a resource in place of one.
    Named(DefinitionName),
    /// Resources, which may belong to a template.
    Resources(Vec<Box<str>>),
}

impl UsedDefinitions {
    /// Returns the definitions that `request` uses, by its method; `None` if it uses none, as for a list.
    ///
    /// # Errors
    /// Fails if the request does not name what it uses.
    pub(super) fn by(request: &Request) -> Result<Option<Self>, Error> {
        if request.method == Method::TOOLS_CALL {
            return Ok(Some(Self::Tool));
        }
        let rule = MethodRule::of(request).filter(|rule| rule.gates.contains(&GateKind::Definitions));
        let Some(rule) = rule else { return Ok(None) };
        Ok(match rule.concern {
            RequestConcern::Prompt => Some(named(DefinitionKind::Prompt, &request.params, "name")?),
            RequestConcern::Completion => Some(Self::completed(request)?),
            RequestConcern::Resource => Some(Self::Resources(vec![text(&request.params, "uri")?])),
            RequestConcern::Running => {
                let uris = subscriptions(request);
                let uris: Vec<_> = uris.iter().filter_map(RawJson::to_text).map(Into::into).collect();
                (!uris.is_empty()).then_some(Self::Resources(uris))
            }
            _ => None,
        })
    }

    /// Returns the kind of definitions that have to be examined before the request is decided about.
    pub(super) const fn kind(&self) -> DefinitionKind {
        match self {
            Self::Tool => DefinitionKind::Tool,
            Self::Named(name) => name.kind(),
            Self::Resources(_) => DefinitionKind::Template,
        }
    }

    fn completed(request: &Request) -> Result<Self, Error> {
        let reference = request.params.object("ref").ok_or_else(|| missing("ref"))?;
        match reference.text("type").as_deref() {
            Some("ref/prompt") => named(DefinitionKind::Prompt, &reference, "name"),
            _ => named(DefinitionKind::Template, &reference, "uri"),
        }
    }
}

fn named(kind: DefinitionKind, object: &Object, member: &str) -> Result<UsedDefinitions, Error> {
    Ok(UsedDefinitions::Named(DefinitionName::new(kind, text(object, member)?)))
}

fn text(object: &Object, member: &str) -> Result<Box<str>, Error> {
    object.text(member).map(|text| Box::from(&*text)).ok_or_else(|| missing(member))
}

fn missing(member: &str) -> Error {
    Error::invalid_params(format!("`{member}` is missing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(method: &'static str, params: &str) -> Result<Option<UsedDefinitions>, Error> {
        UsedDefinitions::by(&Request::call(method, Object::parse(params.to_owned()).unwrap()))
    }

    #[test]
    fn what_a_request_uses_stands_in_its_body() {
        let resources =
            |uris: &[&str]| UsedDefinitions::Resources(uris.iter().map(|&uri| uri.into()).collect());
        for (method, params, expected) in [
            ("tools/call", r#"{"name":"read"}"#, Some(UsedDefinitions::Tool)),
            ("prompts/get", r#"{"name":"greet"}"#, Some(UsedDefinitions::Named("prompt:greet".into()))),
            ("resources/read", r#"{"uri":"a://1"}"#, Some(resources(&["a://1"]))),
            ("resources/subscribe", r#"{"uri":"a://1"}"#, Some(resources(&["a://1"]))),
            ("resources/unsubscribe", r#"{"uri":"a://1"}"#, None),
            (
                "subscriptions/listen",
                r#"{"notifications":{"resourceSubscriptions":["a://1","a://2"]}}"#,
                Some(resources(&["a://1", "a://2"])),
            ),
            ("subscriptions/listen", r#"{"notifications":{"toolsListChanged":true}}"#, None),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/prompt","name":"greet"}}"#,
                Some(UsedDefinitions::Named("prompt:greet".into())),
            ),
            (
                "completion/complete",
                r#"{"ref":{"type":"ref/resource","uri":"a://{x}"}}"#,
                Some(UsedDefinitions::Named("template:a://{x}".into())),
            ),
            ("prompts/list", "{}", None),
            ("ping", "{}", None),
        ] {
            assert_eq!(used(method, params).unwrap(), expected, "{method} {params}");
        }
        for method in ["prompts/get", "resources/read", "completion/complete"] {
            assert_eq!(used(method, "{}").unwrap_err().code(), -32602, "{method}");
        }
    }
}
