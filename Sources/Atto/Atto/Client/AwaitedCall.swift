import AttoATT
import AttoEventLoop
import AttoGATT

/// An operation and its waiting caller in one object. Reads and writes are most of what connections
/// do, and a `Waiter` beside an operation needs closures.
///
/// The caller is resumed once, with the outcome in this object. A task that is cancelled first gets
/// `cancelled`, and nothing more is sent for it.
///
/// `@unchecked Sendable`: the caller creates the object and does not touch it until it is resumed.
/// Until then every stored property is touched on the loop's thread only, which each function that
/// other threads may call checks.
class AwaitedCall: ClientOperation, @unchecked Sendable {
  private let bound: LoopBound<ConnectionCore>
  @exclusivity(unchecked) private var continuation: UnsafeContinuation<Void, Never>?
  @exclusivity(unchecked) private var id: TransactionID?
  @exclusivity(unchecked) private var isAbandoned = false
  /// The error, if there is no result. For the caller after it was resumed.
  @exclusivity(unchecked) private(set) var failure: AttoError?

  init(_ bound: LoopBound<ConnectionCore>) { self.bound = bound }

  /// Starts the operation and waits for its end. To be called once. On the loop's thread the
  /// operation starts at once.
  ///
  /// Inlined, because each further async function makes the runtime check where it should run.
  @inline(__always)
  final func carriedOut() async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { begin($0) }
    } onCancel: {
      abandon()
    }
    HappensBefore.acquire(self)
  }

  private func begin(_ continuation: UnsafeContinuation<Void, Never>) {
    if bound.loop.isCurrent { return start(continuation) }
    bound.loop.execute { self.start(continuation) }
  }

  private func start(_ continuation: UnsafeContinuation<Void, Never>) {
    let core = bound.value
    self.continuation = continuation
    if isAbandoned { return end(.cancelled) }
    let id = core.start(self)
    self.id = id
  }

  /// The caller's task was cancelled. Called on any thread.
  private func abandon() {
    bound.loop.execute { [self] in
      isAbandoned = true
      guard continuation != nil, let id else { return }
      bound.value.cancel(id)
      if continuation != nil { end(.cancelled) }
    }
  }

  /// Resumes the caller. Only the first call has an effect.
  final func end() {
    guard let continuation else { return }
    self.continuation = nil
    HappensBefore.release(self)
    continuation.resume()
  }

  private func end(_ error: AttoError) {
    guard continuation != nil else { return }
    failure = error
    end()
  }

  final override func fail(_ error: ProcedureError) {
    let core = bound.value
    end(AttoError(error, end: core.end, obstacle: core.raising.obstacle))
  }
}

/// Read Characteristic Value, with its caller.
final class AwaitedRead: AwaitedCall, @unchecked Sendable {
  @exclusivity(unchecked) private var procedure: ReadCharacteristicValue
  /// The value; nil if the read failed.
  @exclusivity(unchecked) private(set) var value: [UInt8]?

  init(_ handle: AttributeHandle, _ bound: LoopBound<ConnectionCore>) {
    procedure = ReadCharacteristicValue(handle)
    super.init(bound)
  }

  override var footprint: Footprint? { procedure.footprint }

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try procedure.encodeRequest(into: &out)
  }

  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    do throws(ProcedureError) {
      guard case .finished(let value) = try procedure.receive(response, mtu: mtu) else {
        return true
      }
      self.value = value
      end()
    } catch {
      fail(error)
    }
    return false
  }
}

/// Write Characteristic Value, with its caller.
final class AwaitedWrite: AwaitedCall, @unchecked Sendable {
  @exclusivity(unchecked) private var procedure: WriteValue

  init(
    _ handle: AttributeHandle, _ value: [UInt8], _ bound: LoopBound<ConnectionCore>
  ) {
    procedure = WriteValue(handle, value: value)
    super.init(bound)
  }

  override var footprint: Footprint? { procedure.footprint }

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try procedure.encodeRequest(into: &out)
  }

  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    do throws(ProcedureError) {
      guard case .finished = try procedure.receive(response, mtu: mtu) else { return true }
      end()
    } catch {
      fail(error)
    }
    return false
  }
}
