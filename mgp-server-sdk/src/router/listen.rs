//! The method `subscriptions/listen` of stateless sessions.

use std::sync::Arc;

use mgp_types::mcp::{SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams};
use mgp_types::{Error, Method, Object, Request, Response, Session};

use crate::change::{Change, MAX_SUBSCRIPTIONS, WantedChanges, notification};
use crate::server_shared::ServerShared;
use crate::task;

/// Serves `subscriptions/listen`: acknowledges the honoured wishes, then sends notifications of changes until the
/// request is dropped or the server ends its subscriptions.
pub(super) async fn listen(shared: Arc<ServerShared>, request: Request) -> Result<Response, Error> {
    let session = request.context.session()?.clone();
    let params: SubscriptionsListenParams = request.body()?;
    let honoured = honour(&shared, &session, &request, params.notifications)?;
    // Listening starts before the acknowledgement, so that no change after it is missed.
    let mailbox = shared.listeners.listen(wanted(&honoured));
    let outbox = request.context.outbox;
    let acknowledged = Object::from_value(&SubscriptionsAcknowledgedParams::new(honoured))
        .map_err(|error| Error::internal("the acknowledgement is not JSON").with_source(error))?;
    outbox.notify(Request::notify(Method::ACKNOWLEDGED, acknowledged)).await?;
    while let Some(change) = mailbox.next().await {
        let notification = match &change {
            Change::Task(id) => shared.context.tasks.stateless_notification(id),
            other => Some(notification(other)),
        };
        if let Some(notification) = notification {
            outbox.notify(notification).await?;
        }
    }
    Ok(Response::empty())
}

/// Returns the wanted notifications that this server sends.
fn honour(
    shared: &ServerShared,
    session: &Session,
    request: &Request,
    wanted: SubscriptionFilter,
) -> Result<SubscriptionFilter, Error> {
    let offered = shared.offered();
    let mut honoured = SubscriptionFilter::new();
    let only = |wanted: Option<bool>, offered: bool| wanted.filter(|wanted| *wanted && offered);
    honoured.tools_list_changed = only(wanted.tools_list_changed, offered.tools);
    honoured.prompts_list_changed = only(wanted.prompts_list_changed, offered.prompts);
    honoured.resources_list_changed = only(wanted.resources_list_changed, offered.resources);
    if let Some(mut uris) = wanted.resource_subscriptions.filter(|_| offered.resources) {
        uris.truncate(MAX_SUBSCRIPTIONS);
        honoured.resource_subscriptions = Some(uris);
    }
    if let Some(mut ids) = wanted.task_ids.filter(|_| offered.tasks) {
        task::declared(session)?;
        ids.retain(|id| shared.context.tasks.find(id, &request.context).is_ok());
        ids.truncate(MAX_SUBSCRIPTIONS);
        honoured.task_ids = Some(ids);
    }
    Ok(honoured)
}

fn wanted(honoured: &SubscriptionFilter) -> WantedChanges {
    let lists = [
        (honoured.tools_list_changed, Change::Tools),
        (honoured.prompts_list_changed, Change::Prompts),
        (honoured.resources_list_changed, Change::Resources),
    ];
    let lists = lists.into_iter().filter_map(|(wanted, change)| (wanted == Some(true)).then_some(change));
    let named = |names: &Option<Vec<String>>, change: fn(Arc<str>) -> Change| {
        names.iter().flatten().map(move |name| change(name.as_str().into())).collect::<Vec<_>>()
    };
    let uris = named(&honoured.resource_subscriptions, Change::Updated);
    lists.chain(uris).chain(named(&honoured.task_ids, Change::Task)).collect()
}
