//! The method `completion/complete`.

use mgp_types::mcp::{CompleteParams, CompleteResult, Completion, Reference};
use mgp_types::mgp::written;
use mgp_types::{Error, Response};

use crate::catalog::Catalog;
use crate::completion::{ArgumentOwner, CompletionRequest};
use crate::method::MethodFuture;
use crate::tool::CallInput;

/// Completes an argument; an argument without a completion has no values.
pub(super) fn complete(catalog: &Catalog, input: CallInput) -> Result<MethodFuture, Error> {
    let params: CompleteParams = input.request.body()?;
    let owner = match &params.reference {
        Reference::Prompt(prompt) => {
            catalog.prompts.get(&prompt.name).ok_or_else(|| Error::invalid_params("unknown prompt"))?;
            ArgumentOwner::Prompt(prompt.name.as_str().into())
        }
        Reference::Resource(template) => {
            let known = catalog.templates.get(&template.uri).is_some()
                || catalog.resources.get(&template.uri).is_some();
            known.then_some(()).ok_or_else(|| Error::invalid_params("unknown resource template"))?;
            ArgumentOwner::Template(template.uri.as_str().into())
        }
        _ => return Err(Error::invalid_params("unknown kind of reference")),
    };
    let arguments = params.context.and_then(|context| context.arguments).unwrap_or_default();
    let wanted = CompletionRequest { value: params.argument.value, arguments };
    let completer = catalog.completers.get(&(owner, params.argument.name.into()));
    let values = completer.map(|completer| completer(wanted, input));
    Ok(Box::pin(async move {
        let completion = match values {
            Some(values) => bounded(values.await?),
            None => Completion::new([]),
        };
        written(&CompleteResult::new(completion)).map(Response::plain)
    }))
}

const MAX_VALUES: usize = 100;

/// Cuts the values to the number that the specification allows.
fn bounded(mut completion: Completion) -> Completion {
    if completion.values.len() > MAX_VALUES {
        let all = i64::try_from(completion.values.len()).unwrap_or(i64::MAX);
        completion.total.get_or_insert(all);
        completion.has_more = Some(true);
        completion.values.truncate(MAX_VALUES);
    }
    completion
}
