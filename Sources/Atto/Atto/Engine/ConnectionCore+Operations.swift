import AttoATT
import AttoGATT

/// Operations of the client, and indications of the server.
extension ConnectionCore {
  func start(_ operation: ClientOperation) -> TransactionID {
    let id =
      if let bearers { bearers.group.start(operation, at: now) } else {
        session.start(operation, at: now)
      }
    settle()
    // Reading may have paused for values that nobody receives. Otherwise the next poll reports.
    if isReadable || !watch.reportsReading { read() }
    return id
  }

  func startExchangeMTU(_ operation: ClientOperation) -> TransactionID? {
    let id = session.startExchangeMTU(operation, at: now)
    settle()
    read()
    return id
  }

  func cancel(_ id: TransactionID) {
    if let bearers {
      bearers.group.cancel(id, at: now)
    } else {
      session.cancel(id, at: now)
    }
    settle()
  }

  /// Indicates a value. `body` is called once, when the value is confirmed or with the error.
  func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], _ body: @escaping (AttoError?) -> Void
  ) -> TransactionID? {
    let carrier = carrier(ofValues: handle)
    guard carrier === self else { return carrier.indicate(handle, value, body) }
    defer {
      settle()
      read()
    }
    do throws(ProcedureError) {
      let id = try session.indicate(handle, value, at: now)
      confirmations.append((id, body))
      return id
    } catch {
      body(AttoError(error, end: end))
      return nil
    }
  }

  /// Forgets an indication, which is not sent if it still waits for its turn. False if it was
  /// confirmed or forgotten before.
  @discardableResult func cancel(indication id: TransactionID) -> Bool {
    if main == nil, let other = bearers?.core(ofIndication: id), other !== self {
      return other.cancel(indication: id)
    }
    guard let index = confirmations.firstIndex(where: { $0.id == id }) else { return false }
    confirmations.remove(at: index)
    session.cancel(indication: id)
    return true
  }

  func confirmed(_ id: TransactionID) {
    guard let index = confirmations.firstIndex(where: { $0.id == id }) else { return }
    confirmations.remove(at: index).body(nil)
  }
}
