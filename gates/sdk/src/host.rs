//! The macro for functions of the host and their test doubles.

/// Declares the functions of one WIT interface. On WebAssembly each calls the component's import; on native targets,
/// the closure set with the method of the same name on [`crate::testing::Fake`].
///
/// `as` renames the method, because functions of two interfaces may share a name but methods cannot.
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
            #[doc = concat!("Sets the implementation of [`crate::", stringify!($interface), "::", stringify!($name), "`].")]
            pub fn $fake(self, f: impl Fn($($type),*) -> Result<$reply, crate::Fault> + 'static) -> Self {
                let f: Box<dyn Fn($($type),*) -> Result<$reply, crate::Fault>> = Box::new(f);
                self.set(concat!(stringify!($interface), ".", stringify!($name)), f)
            }
        }
    )*};
}
