//! The reduction of lists of definitions to what was admitted.

use mgp_types::{Object, RawJson, Response};

use crate::definition::{DefinitionAdmission, DefinitionKind};
use crate::tool::pages::FetchedList;

/// Returns the response with the definitions that were admitted; unchanged, if that is all of them and they are on one
/// page.
pub(super) fn admitted(
    mut response: Response,
    fetched: &FetchedList,
    admissions: &[DefinitionAdmission],
    kind: DefinitionKind,
) -> Response {
    let is_admitted =
        |admission: &DefinitionAdmission| admission.status.is_none_or(|status| !status.is_held());
    if fetched.is_whole && admissions.iter().all(is_admitted) {
        return response;
    }
    let listed = fetched.listed.iter().zip(admissions).filter(|(_, admission)| is_admitted(admission));
    let listed: Vec<&Object> = listed.map(|(listed, _)| listed).collect();
    let list = RawJson::from_value(&listed).unwrap_or_else(|_| RawJson::from_written(b"[]".to_vec()));
    let mut result = Object::from_raw(&response.result).unwrap_or_default();
    result.set(kind.list_member(), list);
    if kind.is_pinned() {
        result.remove("nextCursor");
    }
    response.result = result.to_raw().into();
    response
}
