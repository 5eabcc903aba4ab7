//! The pages, a file each, and the paths at which they are.

mod access;
mod definitions;
mod inbox;
mod kernel;
mod question;
mod record;
mod servers;
mod tools;

use mgp_types::{Error, code};

use super::form::Form;
use super::layout::Page;
use super::page_client::PageClient;

/// Returns the page at a path.
///
/// # Errors
/// There is no such page, or what it shows is not there.
pub(super) async fn page(client: &PageClient, path: &[String], query: &Form) -> Result<Page, Error> {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path[..] {
        [""] => inbox::page(client).await,
        ["questions", id] => question::page(client, id).await,
        ["servers"] => servers::all(client, query).await,
        ["servers", id] => servers::one(client, id).await,
        ["tools"] => tools::all(client, query).await,
        ["tools", name] => tools::one(client, name, query).await,
        ["definitions"] => definitions::all(client, query).await,
        ["definitions", server, name] => definitions::one(client, server, name).await,
        ["access"] => access::page(client, query).await,
        ["record"] => record::page(client, query).await,
        ["kernel"] => kernel::page(client).await,
        _ => Err(Error::new(code::RESOURCE_NOT_FOUND, "there is no such page")),
    }
}
