import CAtto

/// The Swift part of an `atto_bearer`.
final class Connection {
  let device: Device
  let session: Session
  let client: ServerClient?
  /// The queue of events, which belongs to the C part and outlives this object.
  private let queue: UnsafeMutableRawPointer
  /// Indications of the peer that have not been confirmed.
  var unconfirmed = 0

  init(
    _ device: Device, _ client: ServerClient?, flags: Int, mtu: Int, queue: UnsafeMutableRawPointer
  ) {
    self.device = device
    self.client = client
    unsafe self.queue = queue
    var configuration = device.configuration
    if mtu > 0 { configuration.channel = .enhanced(mtu: mtu) }
    configuration.linkMayBeReused = flags & ATTO_LINK_MAY_BE_REUSED != 0
    session = Session(
      configuration, server: client == nil ? nil : device.server, client: client)
    session.asksForSecurity = flags & ATTO_ASK_SECURITY != 0
  }

  static func at(_ pointer: UnsafeMutableRawPointer) -> Connection {
    Unmanaged<Connection>.fromOpaque(pointer).takeUnretainedValue()
  }

  func post(_ event: atto_event) {
    unsafe withUnsafePointer(to: event) { unsafe attocore_post(queue, $0, nil, 0) }
  }

  func post(_ event: atto_event, _ data: RawSpan) {
    unsafe data.withUnsafeBytes { data in
      unsafe withUnsafePointer(to: event) {
        unsafe attocore_post(queue, $0, data.baseAddress, data.count)
      }
    }
  }

  /// Passes on what the server has noted. It can only concern this client, because the events are
  /// fetched after each call.
  func postServerEvents() {
    let server = device.server
    guard server.hasEvents else { return }
    var index = 0
    while let noted = server.event(at: index) {
      index += 1
      var event = atto_event()
      switch noted {
      case .valueWritten(let handle, _):
        event.type = UInt32(ATTO_EVENT_WRITTEN)
        event.handle = handle.rawValue
      case .configured(let value, let configuration, _):
        event.type = UInt32(ATTO_EVENT_CONFIGURED)
        event.handle = value.rawValue
        event.flags = UInt8(truncatingIfNeeded: configuration.rawValue)
      case .featuresWritten(let features, _):
        event.type = UInt32(ATTO_EVENT_FEATURES)
        event.flags = features.rawValue
      }
      post(event)
    }
    server.forgetEvents()
  }

  /// Carries out what a call has returned, for the PDU that it received.
  func act(_ action: SessionAction, _ octets: RawSpan) -> Int32 {
    if client != nil { postServerEvents() }
    switch action {
    case .none: return Code.ok
    case .notification: postValue(ATTO_EVENT_NOTIFICATION, octets)
    case .indication:
      unconfirmed += 1
      postValue(ATTO_EVENT_INDICATION, octets)
    case .notifications:
      if case .multipleHandleValueNotification(let values) = PDU(octets) {
        var iterator = values.makeIterator()
        while let value = iterator.next() {
          var event = atto_event()
          event.type = UInt32(ATTO_EVENT_NOTIFICATION)
          event.handle = value.handle.rawValue
          post(event, value.value)
        }
      }
    case .confirmed(let id):
      var event = atto_event()
      event.type = UInt32(ATTO_EVENT_CONFIRMED)
      event.id = id.rawValue
      post(event)
    case .securityWanted(let code):
      var event = atto_event()
      event.type = UInt32(ATTO_EVENT_SECURITY_WANTED)
      event.att_error = code.rawValue
      post(event)
    case .failed(let failure): return Code.of(failure)
    }
    return Code.ok
  }

  private func postValue(_ type: Int, _ octets: RawSpan) {
    var event = atto_event()
    event.type = UInt32(type)
    event.handle = UInt16(octets.octet(at: 1)) | UInt16(octets.octet(at: 2)) << 8
    post(event, octets.extracting(droppingFirst: 3))
  }
}

@_cdecl("attocore_bearer_create")
func createBearer(
  _ device: UnsafeMutableRawPointer, _ flags: UInt32, _ mtu: UInt32,
  _ queue: UnsafeMutableRawPointer
) -> UnsafeMutableRawPointer? {
  let device = Device.at(device)
  // Outside of the initializer: one that fails loses its object in Embedded Swift 6.3.
  var client: ServerClient?
  if Int(flags) & ATTO_CLIENT_ONLY == 0 {
    client = device.server.connect()
    if client == nil { return nil }
  }
  let connection = unsafe Connection(
    device, client, flags: Int(flags), mtu: Int(mtu), queue: queue)
  return Unmanaged.passRetained(connection).toOpaque()
}

@_cdecl("attocore_bearer_destroy")
func destroyBearer(_ bearer: UnsafeMutableRawPointer) {
  let connection = Connection.at(bearer)
  connection.session.linkEnded()
  if let client = connection.client { connection.device.server.disconnect(client) }
  Unmanaged<Connection>.fromOpaque(bearer).release()
}

@_cdecl("attocore_link_ended")
func linkEnded(_ bearer: UnsafeMutableRawPointer) { Connection.at(bearer).session.linkEnded() }

@_cdecl("attocore_feed")
func feed(
  _ bearer: UnsafeMutableRawPointer, _ pdu: UnsafeRawPointer?, _ length: Int, _ now: Int64
) -> Int32 {
  let connection = Connection.at(bearer)
  let session = connection.session
  if session.bearer.failure != nil { return Int32(ATTO_ERR_FAILED) }
  if session.isCongested { return Int32(ATTO_ERR_AGAIN) }
  if connection.client != nil { connection.device.asker.connection = connection }
  let octets = unsafe UnsafeRawBufferPointer(start: pdu, count: length).bytes
  return connection.act(session.receive(octets, at: Instant(nanoseconds: now)), octets)
}

/// The first PDU of the outbox, or nil; it stays where it is until the outbox is used.
@_cdecl("attocore_peek")
func peek(
  _ bearer: UnsafeMutableRawPointer, _ pdu: UnsafeMutablePointer<UnsafeRawPointer?>
) -> Int32 {
  var count: Int32 = 0
  _ = Connection.at(bearer).session.bearer.outbox.withFirst { octets in
    unsafe octets.withUnsafeBytes { unsafe pdu.pointee = $0.baseAddress }
    count = Int32(octets.byteCount)
  }
  return count
}

@_cdecl("attocore_sent")
func sent(_ bearer: UnsafeMutableRawPointer) -> Int32 {
  let session = Connection.at(bearer).session
  guard session.hasOutput else { return Int32(ATTO_ERR_STATE) }
  session.bearer.outbox.removeFirst()
  return Code.ok
}

@_cdecl("attocore_deadline")
func deadline(_ bearer: UnsafeMutableRawPointer, _ time: UnsafeMutablePointer<Int64>) -> Int32 {
  guard let deadline = Connection.at(bearer).session.deadline else { return 0 }
  unsafe time.pointee = deadline.nanoseconds
  return 1
}

@_cdecl("attocore_advance")
func advance(_ bearer: UnsafeMutableRawPointer, _ now: Int64) -> Int32 {
  let connection = Connection.at(bearer)
  if connection.session.bearer.failure != nil { return Int32(ATTO_ERR_FAILED) }
  return connection.act(
    connection.session.advance(to: Instant(nanoseconds: now)), RawSpan())
}

@_cdecl("attocore_mtu")
func mtu(_ bearer: UnsafeMutableRawPointer) -> Int32 {
  Int32(Connection.at(bearer).session.bearer.mtu)
}

@_cdecl("attocore_pump")
func pump(_ bearer: UnsafeMutableRawPointer, _ now: Int64) {
  let session = Connection.at(bearer).session
  if session.bearer.failure == nil { session.pump(at: Instant(nanoseconds: now)) }
}

@_cdecl("attocore_trim")
func trim(_ bearer: UnsafeMutableRawPointer) { Connection.at(bearer).session.trim() }

@_cdecl("attocore_confirm")
func confirm(_ bearer: UnsafeMutableRawPointer) -> Int32 {
  let connection = Connection.at(bearer)
  guard connection.unconfirmed > 0 else { return Int32(ATTO_ERR_STATE) }
  connection.unconfirmed -= 1
  connection.session.confirm()
  return Code.ok
}

@_cdecl("attocore_send_raw")
func sendRaw(_ bearer: UnsafeMutableRawPointer, _ pdu: UnsafeRawPointer, _ length: Int) -> Int32 {
  let session = Connection.at(bearer).session
  if session.bearer.failure != nil { return Int32(ATTO_ERR_FAILED) }
  guard length <= session.bearer.mtu else { return Int32(ATTO_ERR_LENGTH) }
  guard !session.isCongested else { return Int32(ATTO_ERR_AGAIN) }
  session.bearer.transmitRaw(unsafe UnsafeRawBufferPointer(start: pdu, count: length).bytes)
  return Code.ok
}
