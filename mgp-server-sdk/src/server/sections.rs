//! The sections of MGP that a server can have, each one a layer.

use mgp_lifecycle::server::{DeadlineGateLayer, Life, LifeLayer};
use mgp_stream::call::StreamLayer;
use mgp_stream::callback::CallbackLayer;
use mgp_stream::event::{EventsGate, Publisher};
use mgp_types::mgp::{Extension, ExtensionSet, Offer};
use mgp_types::{Gate, GateLayer};
use tower_layer::Stack;

use super::Server;

impl<L> Server<L> {
    /// Lets tools send parts of their results as they come (MGP §12): see [`Cx::stream`](crate::Cx::stream). Clients can
    /// stop calls, and get what there was.
    ///
    /// It adds a layer, as the other sections do: what is added later lies further in.
    pub fn streaming(mut self) -> Server<Stack<StreamLayer, L>> {
        self.parts.about.streams = true;
        self.offering(Extension::Streaming).layer(StreamLayer::new())
    }

    /// Lets clients subscribe to what `publisher` publishes (MGP §13.2).
    pub fn events(self, publisher: &Publisher) -> Server<Stack<GateLayer<EventsGate>, L>> {
        self.offering(Extension::Events).layer(EventsGate::new(publisher.clone()).into_layer())
    }

    /// Lets tools ask clients that speak MGP as MGP does (§13.4): see [`Cx::callback`](crate::Cx::callback). Others are
    /// asked as MCP does, with and without this.
    pub fn callbacks(self) -> Server<Stack<CallbackLayer, L>> {
        let callbacks = self.parts.about.callbacks.clone();
        self.offering(Extension::Callbacks).layer(CallbackLayer::new(callbacks))
    }

    /// Lets clients see how the server does, and stop it gracefully (MGP §11); `life` is the same for the application.
    ///
    /// What serves the server then ends once it has drained, and drains when the process is asked to terminate. A call
    /// that came with a time limit is ended at its end.
    pub fn lifecycle(mut self, life: &Life) -> Server<Stack<DeadlineGateLayer, Stack<LifeLayer, L>>> {
        self.parts.life = Some(life.clone());
        self.offering(Extension::Lifecycle)
            .layer(LifeLayer::new(life.clone()))
            .layer(DeadlineGateLayer::new())
    }

    /// The life that the server has, if it has one.
    pub(crate) fn life(&self) -> Option<Life> {
        self.parts.life.clone()
    }

    /// Offers an extension beside what is offered.
    fn offering(mut self, extension: Extension) -> Self {
        let offer = self.parts.mgp.get_or_insert_with(|| Offer::new(ExtensionSet::new()));
        offer.extensions.insert(extension);
        let both =
            offer.extensions.contains(&Extension::Events) && offer.extensions.contains(&Extension::Callbacks);
        if both {
            // What the two are called together by those who do not know them apart.
            offer.extensions.insert(Extension::Bidirectional);
        }
        self
    }
}
