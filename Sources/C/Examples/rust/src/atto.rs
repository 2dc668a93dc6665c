//! What the client needs of the C library, without `unsafe` for its caller.

use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::mem::size_of;
use std::os::unix::io::{AsRawFd, FromRawFd, OwnedFd};
use std::{io, ptr, slice};

/// The declarations that build.rs makes.
#[allow(non_camel_case_types, dead_code)]
pub mod sys {
    include!(concat!(env!("OUT_DIR"), "/atto.rs"));
}

/// A device with one bearer, on a socket.
pub struct Connection {
    device: *mut sys::atto,
    bearer: *mut sys::atto_bearer,
    socket: OwnedFd,
}

// Calls must come from one thread at a time, not always from the same. So it is Send, and not Sync.
unsafe impl Send for Connection {}

/// An event. Its value is valid until the next call with the connection, hence the lifetime.
pub struct Event<'a> {
    pub fields: sys::atto_event,
    connection: PhantomData<&'a Connection>,
}

impl Event<'_> {
    pub fn is(&self, kind: u32) -> bool {
        self.fields.type_ == kind
    }

    pub fn value(&self) -> &[u8] {
        match self.fields.length {
            0 => &[],
            length => unsafe { slice::from_raw_parts(self.fields.data, length) },
        }
    }

    pub fn uuid(&self) -> String {
        let mut text = [0; sys::ATTO_UUID_TEXT as usize];
        unsafe { string(sys::atto_uuid_text(self.fields.uuid, text.as_mut_ptr())) }
    }
}

impl Connection {
    /// Connects to an endpoint, such as `unix:/tmp/strap`.
    pub fn open(endpoint: &str) -> io::Result<Connection> {
        let endpoint = CString::new(endpoint)?;
        let descriptor =
            unsafe { sys::atto_linux_connect(endpoint.as_ptr(), sys::ATTO_LOW as i32) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
        let mut connection = Connection {
            device: ptr::null_mut(),
            bearer: ptr::null_mut(),
            socket,
        };
        // C passes the sizes of structures by macros, which bindgen does not see.
        let (row, event) = (size_of::<sys::atto_row>(), size_of::<sys::atto_event>());
        check(unsafe { sys::atto_create_sized(row, event, ptr::null(), &mut connection.device) })?;
        let bearer = &mut connection.bearer;
        check(unsafe { sys::atto_bearer_create(connection.device, 0, 0, bearer) })?;
        Ok(connection)
    }

    /// Waits for the next event; none after the peer has closed the connection.
    pub fn next(&mut self) -> io::Result<Option<Event<'_>>> {
        let mut fields = unsafe { std::mem::zeroed::<sys::atto_event>() };
        let (size, socket) = (size_of::<sys::atto_event>(), self.socket.as_raw_fd());
        let result =
            unsafe { sys::atto_linux_next_sized(size, self.bearer, socket, i64::MAX, &mut fields) };
        if result >= 0 {
            return Ok(Some(Event {
                fields,
                connection: PhantomData,
            }));
        }
        let error = io::Error::last_os_error();
        if error.raw_os_error() == Some(0) {
            Ok(None)
        } else {
            Err(error)
        }
    }

    pub fn exchange_mtu(&mut self) -> io::Result<()> {
        check(unsafe { sys::atto_exchange_mtu(self.bearer, 0, now(), ptr::null_mut()) })
    }

    pub fn discover_all(&mut self) -> io::Result<()> {
        check(unsafe { sys::atto_discover_all(self.bearer, now(), ptr::null_mut()) })
    }

    pub fn read_long(&mut self, handle: u16) -> io::Result<()> {
        check(unsafe { sys::atto_read_long(self.bearer, handle, 0, now(), ptr::null_mut()) })
    }

    pub fn subscribe(&mut self, handle: u16) -> io::Result<()> {
        let kinds = sys::ATTO_NOTIFICATIONS as i32;
        check(unsafe { sys::atto_subscribe(self.bearer, handle, 0, kinds, now(), ptr::null_mut()) })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        unsafe { sys::atto_destroy(self.device) }
    }
}

/// The name of an error of the peer.
pub fn att_error_name(code: u8) -> String {
    unsafe { string(sys::atto_att_error_name(code)) }
}

/// Makes an error of a negative result.
pub fn check(result: i32) -> io::Result<()> {
    if result >= 0 {
        return Ok(());
    }
    let text = unsafe { string(sys::atto_strerror(result)) };
    Err(io::Error::new(io::ErrorKind::Other, text))
}

fn now() -> i64 {
    unsafe { sys::atto_linux_now() }
}

unsafe fn string(text: *const std::os::raw::c_char) -> String {
    CStr::from_ptr(text).to_string_lossy().into_owned()
}
