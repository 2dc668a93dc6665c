import AttoATT
import AttoGATT

// The functions of strap.h. The C caller must pass a strap from `strap_create` and buffers of the
// documented size.

@_cdecl("strap_create")
func create() -> UnsafeMutableRawPointer? {
  Strap().map { Unmanaged.passRetained($0).toOpaque() }
}

@_cdecl("strap_destroy")
func destroy(_ strap: UnsafeMutableRawPointer) {
  Unmanaged<Strap>.fromOpaque(strap).release()
}

@_cdecl("strap_receive")
func receive(
  _ strap: UnsafeMutableRawPointer, _ pdu: UnsafePointer<UInt8>, _ length: Int, _ now: Int64
) -> Bool {
  let octets = UnsafeRawBufferPointer(start: pdu, count: length)
  return Strap.at(strap).receive(octets.bytes, at: Instant(nanoseconds: now))
}

@_cdecl("strap_transmit")
func transmit(_ strap: UnsafeMutableRawPointer, _ room: UnsafeMutablePointer<UInt8>) -> Int {
  var count = 0
  Strap.at(strap).transmit { pdu in
    count = pdu.byteCount
    for offset in 0..<count { room[offset] = pdu.octet(at: offset) }
  }
  return count
}

@_cdecl("strap_beat")
func beat(_ strap: UnsafeMutableRawPointer, _ rate: UInt8) -> Bool {
  Strap.at(strap).beat(rate)
}

@_cdecl("strap_ask_name")
func askName(_ strap: UnsafeMutableRawPointer, _ now: Int64) {
  Strap.at(strap).askName(at: Instant(nanoseconds: now))
}

@_cdecl("strap_peer_name")
func peerName(
  _ strap: UnsafeMutableRawPointer, _ name: UnsafeMutablePointer<UInt8>, _ room: Int
) -> Int {
  let octets = Strap.at(strap).peerName.prefix(room)
  for (offset, octet) in octets.enumerated() { name[offset] = octet }
  return octets.count
}

@_cdecl("strap_advance")
func advance(_ strap: UnsafeMutableRawPointer, _ now: Int64) -> Bool {
  Strap.at(strap).advance(to: Instant(nanoseconds: now))
}

/// A peripheral with one connection. It has the Generic Access service and a heart rate service,
/// whose control point is handled by the application.
final class Strap {
  /// The one client of the server.
  private let client: ServerClient
  private let server: Server
  private let session: Session
  private let measurement: AttributeHandle
  private let name = PeerName()

  init?() {
    var database = Database()
    do throws(DatabaseError) {
      try database.add(
        ServiceDefinition(
          0x1800,
          characteristics: [
            CharacteristicDefinition(
              0x2A00, properties: .read, value: .constant(Array("Strap".utf8)))
          ]))
      let heartRate = try database.add(
        ServiceDefinition(
          0x180D,
          characteristics: [
            CharacteristicDefinition(0x2A37, properties: .notify),
            CharacteristicDefinition(0x2A38, properties: .read, value: .constant([1])),
            CharacteristicDefinition(
              0x2A39, properties: .write, value: .application(ValueLimits(maximumLength: 1))),
          ]))
      measurement = heartRate[0x2A37].valueHandle
    } catch {
      return nil
    }
    server = Server(database, application: ControlPoint())
    guard let client = server.connect() else { return nil }
    self.client = client
    session = Session(server: server, client: client)
  }

  static func at(_ pointer: UnsafeMutableRawPointer) -> Strap {
    Unmanaged<Strap>.fromOpaque(pointer).takeUnretainedValue()
  }

  func receive(_ pdu: RawSpan, at now: Instant) -> Bool {
    switch session.receive(pdu, at: now) {
    case .failed: return false
    case .indication:
      session.confirm()
      return true
    default: return true
    }
  }

  func transmit(_ body: (RawSpan) -> Void) {
    guard session.bearer.outbox.withFirst(body) != nil else { return }
    session.bearer.outbox.removeFirst()
  }

  func beat(_ rate: UInt8) -> Bool {
    guard server.deliveries(of: measurement, to: client).contains(.notification) else {
      return false
    }
    let value: [UInt8] = [0, rate]
    return session.notify(measurement, value.span.bytes)
  }

  func askName(at now: Instant) {
    let name = name
    let reading = Performed(ReadUsingUUID(0x2A00, in: .all)) { result in
      guard case .success(let output) = result, let first = output.values.first else { return }
      name.octets = first.octets
    }
    session.start(reading, at: now)
  }

  var peerName: [UInt8] { name.octets }

  func advance(to now: Instant) -> Bool {
    if case .failed = session.advance(to: now) { return false }
    return true
  }
}

/// The heart rate control point has one command: reset the energy expended.
private final class ControlPoint: Application {
  override func write(_ question: Question, _ value: RawSpan) -> WriteAnswer {
    guard value.byteCount == 1, value.octet(at: 0) == 1 else {
      return .refused(ErrorCode(rawValue: 0x80))
    }
    return .accepted
  }
}

/// The device name of the peer; empty if it is not known yet.
private final class PeerName {
  var octets: [UInt8] = []
}

/// A procedure with a handler for its result.
///
/// It is generic like its superclass, because Embedded Swift 6.3 passes the argument to an override
/// in a concrete subclass in the place where only a generic one expects it.
private final class Performed<P: Procedure>: ProcedureOperation<P> {
  private let body: (Result<P.Output, ProcedureError>) -> Void

  init(_ procedure: P, _ body: @escaping (Result<P.Output, ProcedureError>) -> Void) {
    self.body = body
    super.init(procedure)
  }

  override func finish(_ result: Result<P.Output, ProcedureError>) { body(result) }
}
