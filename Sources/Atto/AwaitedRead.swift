import ATT
import GATT

/// A read or a write that a caller waits for. ``AwaitedOperation`` would do for both; but what is
/// generic asks the runtime for its types again with each step, some 3,000 instructions for each
/// of these two, which are most of what connections do.
final class AwaitedRead: ClientOperation {
  private var procedure: ReadCharacteristicValue
  private let completion: Completion<[UInt8]>
  private unowned let core: ConnectionCore

  init(_ handle: AttributeHandle, _ core: ConnectionCore, _ completion: Completion<[UInt8]>) {
    procedure = ReadCharacteristicValue(handle)
    self.completion = completion
    self.core = core
  }

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try procedure.encodeRequest(into: &out)
  }

  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    do throws(ProcedureError) {
      guard case .finished(let value) = try procedure.receive(response, mtu: mtu) else {
        return true
      }
      completion.resume(.success(value))
    } catch {
      fail(error)
    }
    return false
  }

  override func fail(_ error: ProcedureError) {
    completion.resume(.failure(AttoError(error, end: core.end)))
  }
}

/// As ``AwaitedRead``.
final class AwaitedWrite: ClientOperation {
  private var procedure: WriteValue
  private let completion: Completion<Void>
  private unowned let core: ConnectionCore

  init(
    _ handle: AttributeHandle, _ value: [UInt8], _ core: ConnectionCore,
    _ completion: Completion<Void>
  ) {
    procedure = WriteValue(handle, value: value)
    self.completion = completion
    self.core = core
  }

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    try procedure.encodeRequest(into: &out)
  }

  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    do throws(ProcedureError) {
      guard case .finished = try procedure.receive(response, mtu: mtu) else { return true }
      completion.resume(.success(()))
    } catch {
      fail(error)
    }
    return false
  }

  override func fail(_ error: ProcedureError) {
    completion.resume(.failure(AttoError(error, end: core.end)))
  }
}
