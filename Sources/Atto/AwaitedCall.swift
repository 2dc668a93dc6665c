import ATT
import EventLoop
import GATT

/// An operation that a caller waits for, and the waiting, in one object: reads and writes are most of
/// what connections do, and what a ``Completion`` takes beside an operation is closures.
///
/// The same rules: the caller is resumed once, with whatever has come of it by then in the object;
/// a task that is cancelled first gets `cancelled`, and nothing more is sent for it. The
/// continuation is an unsafe one because this sees to that.
///
/// `@unchecked Sendable`: whoever calls makes the object and then leaves it alone until it is
/// resumed. Meanwhile every stored property is touched on the loop's thread only, which each
/// function checks that another may call.
class AwaitedCall: ClientOperation, @unchecked Sendable {
  private let bound: LoopBound<ConnectionCore>
  @exclusivity(unchecked) private var continuation: UnsafeContinuation<Void, Never>?
  @exclusivity(unchecked) private var id: TransactionID?
  @exclusivity(unchecked) private var isAbandoned = false
  /// Why there is no result. For the caller, once it is resumed.
  @exclusivity(unchecked) private(set) var failure: AttoError?

  init(_ bound: LoopBound<ConnectionCore>) { self.bound = bound }

  /// Starts the operation and waits for its end. Once. On the loop's own thread it starts at once.
  ///
  /// Inlined, because each async function more costs the caller a look at where it should run.
  @inline(__always)
  final func carriedOut() async {
    await withTaskCancellationHandler {
      await withUnsafeContinuation { begin($0) }
    } onCancel: {
      abandon()
    }
    HandOver.taken(self)
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

  /// The caller's task is cancelled. From any thread.
  private func abandon() {
    bound.loop.execute { [self] in
      isAbandoned = true
      guard continuation != nil, let id else { return }
      bound.value.cancel(id)
      if continuation != nil { end(.cancelled) }
    }
  }

  /// The result is there: the caller goes on. Only the first end has an effect.
  final func end() {
    guard let continuation else { return }
    self.continuation = nil
    HandOver.done(self)
    continuation.resume()
  }

  private func end(_ error: AttoError) {
    guard continuation != nil else { return }
    failure = error
    end()
  }

  final override func fail(_ error: ProcedureError) {
    let core = bound.value
    end(AttoError(error, end: core.end, obstacle: core.obstacle))
  }
}

/// Read Characteristic Value, for a caller who waits.
final class AwaitedRead: AwaitedCall, @unchecked Sendable {
  @exclusivity(unchecked) private var procedure: ReadCharacteristicValue
  /// What was read; nil if that has failed.
  @exclusivity(unchecked) private(set) var value: [UInt8]?

  init(_ handle: AttributeHandle, _ bound: LoopBound<ConnectionCore>) {
    procedure = ReadCharacteristicValue(handle)
    super.init(bound)
  }

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

/// Write Characteristic Value, for a caller who waits.
final class AwaitedWrite: AwaitedCall, @unchecked Sendable {
  @exclusivity(unchecked) private var procedure: WriteValue

  init(
    _ handle: AttributeHandle, _ value: [UInt8], _ bound: LoopBound<ConnectionCore>
  ) {
    procedure = WriteValue(handle, value: value)
    super.init(bound)
  }

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
