//! The sections of MGP that a server can have, each one a layer.

use std::time::Duration;

use mgp_lifecycle::call::SendingLayer;
use mgp_lifecycle::server::{LifecycleLayer, ServerLifecycle};
use mgp_stream::call::StreamLayer;
use mgp_stream::callback::CallbackLayer;
use mgp_stream::event::{EventsGate, Publisher};
#[cfg(feature = "ext")]
use mgp_types::RawJson;
#[cfg(feature = "ext")]
use mgp_types::ext::ExtensionId;
use mgp_types::mgp::{Extension, ExtensionSet, Offer};
use mgp_types::{Gate, GateLayer};
use tower_layer::Stack;

use super::Server;

impl<L> Server<L> {
    /// Lets tools send parts of their results as they come (MGP §12): see [`Cx::stream`](crate::Cx::stream). Clients
    /// can stop calls, and get the parts that there are.
    ///
    /// The section is a layer, as the other sections are: a layer that is added later lies further in. With the feature `ext`
    /// clients that declare `progress_notifications` are told of progress in its words, too.
    pub fn streaming(mut self) -> Server<Stack<StreamLayer, L>> {
        self.parts.about.streams = true;
        #[cfg(feature = "ext")]
        self.parts.about.extensions.insert(ExtensionId::ProgressNotifications.id(), RawJson::empty_object());
        self.offering(Extension::Streaming).layer(StreamLayer::new())
    }

    /// Lets clients subscribe to the events of `publisher` (MGP §13.2). With the feature `ext` they also do so in the words of
    /// `subscribe_notify`: with an id of their own, a filter by members of the data, and a time.
    pub fn events(self, publisher: &Publisher) -> Server<Stack<GateLayer<EventsGate>, L>> {
        #[cfg(feature = "ext")]
        let declaring = self.extension(ExtensionId::SubscribeNotify.id(), RawJson::empty_object());
        #[cfg(not(feature = "ext"))]
        let declaring = self;
        declaring.offering(Extension::Events).layer(EventsGate::new(publisher.clone()).into_layer())
    }

    /// Lets tools ask clients that speak MGP as MGP does (§13.4): see [`Cx::callback`](crate::Cx::callback). Other
    /// clients are asked as MCP does, with and without this.
    pub fn callbacks(self) -> Server<Stack<CallbackLayer, L>> {
        let callbacks = self.parts.about.callbacks.clone();
        self.offering(Extension::Callbacks).layer(CallbackLayer::new(callbacks))
    }

    /// Lets clients ask for the health of the server, and stop it gracefully (MGP §11); `life` is the same for the
    /// application.
    ///
    /// Serving then ends once the server has drained, and the server drains when the process is asked to terminate. A
    /// call that came with a time limit ends at its limit.
    pub fn lifecycle(
        mut self,
        life: &ServerLifecycle,
    ) -> Server<Stack<SendingLayer, Stack<LifecycleLayer, L>>> {
        self.parts.life = Some(life.clone());
        self.offering(Extension::Lifecycle)
            .layer(LifecycleLayer::new(life.clone()))
            .layer(SendingLayer::new().deadline(Duration::MAX))
    }

    /// Returns the life of the server, if it has one.
    pub(crate) fn life(&self) -> Option<ServerLifecycle> {
        self.parts.life.clone()
    }

    /// Adds an extension to the offer.
    fn offering(mut self, extension: Extension) -> Self {
        let offer = self.parts.mgp.get_or_insert_with(|| Offer::new(ExtensionSet::new()));
        offer.extensions.insert(extension);
        let both =
            offer.extensions.contains(&Extension::Events) && offer.extensions.contains(&Extension::Callbacks);
        if both {
            // Older drafts know the two by this common name.
            offer.extensions.insert(Extension::Bidirectional);
        }
        self
    }
}
