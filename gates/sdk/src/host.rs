//! How a function of the host is declared: its signature once, and the macro makes of it what a gate calls, what
//! a test calls instead, and the method of the fake host that says what it does there.

/// Declares functions of one WIT interface. On WebAssembly each calls the import of the component; elsewhere it
/// calls the closure that the test gave to [`crate::testing::Fake`] by the method of the same name.
///
/// With `as`, the method of the fake has another name than the function: functions of two interfaces may share one, methods
/// cannot.
macro_rules! host_functions {
    ($interface:ident: $($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $reply:ty;)*) => {
        host_functions! { $interface: $($(#[$doc])* fn $name as $name($($argument: $type),*) -> $reply;)* }
    };
    ($interface:ident: $($(#[$doc:meta])* fn $name:ident as $fake:ident($($argument:ident: $type:ty),*) -> $reply:ty;)*) => {$(
        $(#[$doc])*
        pub fn $name($($argument: $type),*) -> Result<$reply, crate::Fault> {
            #[cfg(target_family = "wasm")]
            return crate::bindings::gatehouse::gate::$interface::$name($($argument),*);
            #[cfg(not(target_family = "wasm"))]
            return crate::testing::current().function::<dyn Fn($($type),*) -> Result<$reply, crate::Fault>>(
                concat!(stringify!($interface), ".", stringify!($name)),
            )?($($argument),*);
        }

        #[cfg(not(target_family = "wasm"))]
        impl crate::testing::Fake {
            #[doc = concat!("What [`crate::", stringify!($interface), "::", stringify!($name), "`] does.")]
            #[must_use]
            pub fn $fake(self, f: impl Fn($($type),*) -> Result<$reply, crate::Fault> + 'static) -> Self {
                let f: Box<dyn Fn($($type),*) -> Result<$reply, crate::Fault>> = Box::new(f);
                self.set(concat!(stringify!($interface), ".", stringify!($name)), f)
            }
        }
    )*};
}
