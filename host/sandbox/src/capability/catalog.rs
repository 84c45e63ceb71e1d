//! `catalog`: the tools that the caller has. Granted as `catalog`; what a gate calls takes the same line as
//! what a client calls, and may do no more than the calling tool promised.

use std::sync::Arc;

use gatehouse_core::{
    budget::ByteBudget,
    capability::{Access, Capability, Grants},
    json,
    nesting::Nesting,
    outcome,
};
use serde_json::Value;

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{
        catalog::{Entry, Host},
        types::{Fault, Reply},
    },
    state::State,
};

pub(crate) struct Tools {
    gate: Arc<str>,
    grants: Arc<Grants>,
    /// None while a gate describes itself.
    nesting: Option<Nesting>,
    budget: ByteBudget,
}

impl Tools {
    /// Takes what is meant for it out of the facts.
    pub(super) fn new(facts: &mut CallFacts, budget: &ByteBudget) -> Self {
        Self {
            gate: Arc::clone(&facts.gate),
            grants: Arc::clone(&facts.grants),
            nesting: facts.call.as_mut().and_then(|client| client.nesting.take()),
            budget: budget.clone(),
        }
    }

    fn granted(&self) -> Result<&Nesting, outcome::Fault> {
        self.grants.require(&self.gate, Capability::Catalog, Access::Full)?;
        let describing = || outcome::Fault::denied("A gate that describes itself has no caller yet.");
        self.nesting.as_ref().ok_or_else(describing)
    }
}

impl Host for State {
    async fn tools(&mut self) -> Result<Vec<Entry>, Fault> {
        let entries = self.capabilities.catalog.granted()?.catalog().entries();
        Ok(entries.iter().map(Into::into).collect())
    }

    async fn schema(&mut self, tool: String) -> Result<String, Fault> {
        let entry = self.capabilities.catalog.granted()?.catalog().find(&tool)?;
        Ok(Value::Object((*entry.spec.input_schema).clone()).to_string())
    }

    async fn call(&mut self, tool: String, arguments: String) -> Result<Reply, Fault> {
        let tools = &self.capabilities.catalog;
        let nesting = tools.granted()?;
        // They are held until the call is over.
        let mut reader = json::Reader::new(&tools.budget);
        let arguments = reader
            .parse(&arguments)
            .map_err(|why| outcome::Fault::invalid(format!("the arguments of '{tool}' {why}")))?;
        Ok(nesting.call(&tool, arguments).await?.into())
    }
}
