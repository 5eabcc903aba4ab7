//! The name of a subscription in the `_meta` of its messages.

use mgp_types::mcp::meta::key;
use mgp_types::{Id, Object, Params};

/// Writes the subscription that a message belongs to into its `_meta`.
pub fn tag_subscription(params: &mut Params, id: &Id) {
    let mut meta = params.get("_meta").and_then(|meta| Object::from_raw(&meta).ok()).unwrap_or_default();
    meta.set(key::SUBSCRIPTION_ID, id.to_raw());
    params.set("_meta", meta.to_raw());
}
