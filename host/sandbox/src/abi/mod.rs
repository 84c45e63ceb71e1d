//! Contract versions, one module each: bindings generated from WIT, and conversions to core's types.
//! docs/contract-versions.md describes how to add one.

/// Implements conversions between records with the same field names: plain fields, `[lists]` and `(options)`. A list may
/// have another name in the source: `[list: name]`.
macro_rules! records {
    ($($from:ty => $to:ty {
        $($field:ident),*
    } $([$($list:ident $(: $name:ident)?),*])? $(($($option:ident),*))?;)+) => {$(
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                Self {
                    $($field: value.$field.into(),)*
                    $($($list: records!(value.$list $($name)?).into_iter().map(Into::into).collect(),)*)?
                    $($($option: value.$option.map(Into::into),)*)?
                }
            }
        }
    )+};
    ($value:ident.$list:ident) => { $value.$list };
    ($value:ident.$list:ident $name:ident) => { $value.$name };
}

/// Implements conversions between enums with the same variant names; `(value)` marks variants with a value.
macro_rules! enums {
    ($($from:ty => $to:ty { $($variant:ident $(($value:ident))?),* })+) => {$(
        impl From<$from> for $to {
            fn from(value: $from) -> Self {
                type From = $from;
                match value {
                    $(From::$variant $(($value))? => Self::$variant $(($value.into()))?,)*
                }
            }
        }
    )+};
}

#[cfg(test)]
mod tests;
mod v0_1;

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use gatehouse_core::{
    InvalidValue,
    catalog::ToolEntry,
    completion::{CompletionRequest, Completions},
    conversion::{ConvertedFile, SourceFile},
    outcome::{self, EmbeddedResource, Reply},
    prompt::PromptMessage,
    resource::ResourcePage,
    source::Listing,
};
use wasmtime::{
    Store,
    component::{HasSelf, InstancePre, Linker},
};

#[cfg(test)]
use self::tests::copy;
use crate::state::State;

/// Version for new projects. Also named when a component matches no version.
pub(crate) const CURRENT: &str = "gatehouse:gate@0.1.0";

/// A tool call, independent of versions.
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) tool: String,
    /// JSON, like `params`.
    pub(crate) arguments: String,
    pub(crate) params: String,
    /// `None` for the local user.
    pub(crate) caller: Option<String>,
    pub(crate) preset: String,
    pub(crate) deadline_ms: u64,
    /// The client's `_meta`, as JSON.
    pub(crate) meta: Option<String>,
}

/// Reason a guest returned no result.
pub(crate) enum GuestError {
    Trap(wasmtime::Error),
    Fault(outcome::Fault),
    /// The result violates the contract.
    Broken(InvalidValue),
}

pub(crate) type GuestResult<T> = Result<T, GuestError>;

pub(crate) type GuestAnswer<'a, T> = BoxFuture<'a, GuestResult<T>>;

/// Exports of an instance of any version, called with the parameters of its context. Calling one that the listing does
/// not declare is a contract violation.
#[async_trait]
pub(crate) trait ContractExports: Send + Sync {
    /// Describes `tools` and the optional exports.
    async fn describe(&self, store: &mut Store<State>) -> GuestResult<Listing>;

    async fn call(&self, store: &mut Store<State>, call: ToolCall) -> GuestResult<Reply>;

    /// Calls `on-reply` of `filter` with a reply of this tool.
    async fn filter(
        &self,
        store: &mut Store<State>,
        call: ToolCall,
        tool: Arc<ToolEntry>,
        reply: Reply,
    ) -> GuestResult<Option<Reply>>;

    async fn convert(&self, store: &mut Store<State>, file: SourceFile) -> GuestResult<ConvertedFile>;

    async fn list_resources(
        &self,
        store: &mut Store<State>,
        cursor: Option<String>,
    ) -> GuestResult<ResourcePage>;

    async fn read_resource(
        &self,
        store: &mut Store<State>,
        uri: String,
    ) -> GuestResult<Vec<EmbeddedResource>>;

    async fn changes_in(&self, store: &mut Store<State>, uri: String) -> GuestResult<Option<u64>>;

    async fn complete(&self, store: &mut Store<State>, typed: CompletionRequest) -> GuestResult<Completions>;

    /// Calls `get` of `prompts`; `arguments` is JSON.
    async fn get_prompt(
        &self,
        store: &mut Store<State>,
        name: String,
        arguments: String,
    ) -> GuestResult<Vec<PromptMessage>>;
}

/// Lists the versions as `module: variant`, newest first. If a component matches none, the error is from the newest.
macro_rules! versions {
    ($($(#[$attribute:meta])* $module:ident: $variant:ident),+ $(,)?) => {
        pub(crate) fn add_to_linker(linker: &mut Linker<State>) -> wasmtime::Result<()> {
            $($(#[$attribute])* $module::Everything::add_to_linker::<_, HasSelf<_>>(linker, |state: &mut State| state)?;)+
            Ok(())
        }

        pub(crate) enum GatePre {
            $($(#[$attribute])* $variant($module::GatePre),)+
        }

        impl GatePre {
            pub(crate) fn new(pre: &InstancePre<State>) -> wasmtime::Result<Self> {
                let mut unfit = Vec::new();
                $($(#[$attribute])* match $module::GatePre::new(pre.clone()) {
                    Ok(pre) => return Ok(Self::$variant(pre)),
                    Err(error) => unfit.push(error),
                })+
                Err(unfit.swap_remove(0))
            }

            pub(crate) async fn instantiate_async(&self, store: &mut Store<State>) -> wasmtime::Result<Box<dyn ContractExports>> {
                Ok(match self {
                    $($(#[$attribute])* Self::$variant(pre) => Box::new(pre.instantiate_async(store).await?),)+
                })
            }
        }
    };
}

versions! {
    v0_1: V0_1,
    #[cfg(test)]
    copy: Copy,
}

fn converted<T, U, F: Into<outcome::Fault>>(
    answer: wasmtime::Result<Result<T, F>>,
    convert: impl FnOnce(T) -> Result<U, InvalidValue>,
) -> GuestResult<U> {
    let value = answer.map_err(GuestError::Trap)?.map_err(|fault| GuestError::Fault(fault.into()))?;
    convert(value).map_err(GuestError::Broken)
}
