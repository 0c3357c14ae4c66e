//! Clients whose requests are counted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{Request, Response};
use kube::client::{Body, ClientBuilder};
use kube::{Client, Config};
use tower_layer::Layer;
use tower_service::Service;

use super::Metrics;

impl Metrics {
    /// A client that counts its requests here.
    pub fn client(self: &Arc<Self>, config: Config) -> Result<Client, kube::Error> {
        let builder = ClientBuilder::try_from(config)?;
        Ok(builder.with_layer(&self.layer()).build())
    }

    /// A layer that counts requests.
    pub(crate) fn layer(self: &Arc<Self>) -> CountedLayer {
        CountedLayer(Arc::clone(self))
    }
}

pub(crate) struct CountedLayer(Arc<Metrics>);

impl<S> Layer<S> for CountedLayer {
    type Service = CountRequests<S>;

    fn layer(&self, service: S) -> Self::Service {
        CountRequests {
            service,
            metrics: Arc::clone(&self.0),
        }
    }
}

#[derive(Clone)]
pub(crate) struct CountRequests<S> {
    service: S,
    metrics: Arc<Metrics>,
}

impl<S, B> Service<Request<Body>> for CountRequests<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let method = match request.uri().query() {
            Some(query) if query.contains("watch=true") => "WATCH".to_owned(),
            _ => request.method().to_string(),
        };
        let metrics = Arc::clone(&self.metrics);
        let response = self.service.call(request);
        Box::pin(async move {
            let response = response.await;
            let code = response.as_ref().map_or(0, |ok| ok.status().as_u16());
            metrics.record_request(&method, code);
            response
        })
    }
}
