internal import Atto
import AttoGATT
import Foundation

extension CBPeripheral {
  /// A call of the app that waits for its callback.
  struct Call {
    let number: UInt64
    let fail: (CBPeripheral, any Error) -> Void
  }

  func nextCall() -> UInt64 {
    shown.withLock { shown in
      shown.lastCall += 1
      return shown.lastCall
    }
  }

  /// Registers a call; false, with a warning, while not connected.
  func register(
    _ number: UInt64, _ fail: @escaping (CBPeripheral, any Error) -> Void
  ) -> Bool {
    let isConnected = shown.withLock { shown in
      guard shown.state == .connected else { return false }
      shown.calls.append(Call(number: number, fail: fail))
      return true
    }
    if !isConnected { warnNotConnected() }
    return isConnected
  }

  func warnNotConnected() {
    Warning.log("API MISUSE: \(self) can only accept commands while in the connected state")
  }

  /// Removes a call's registration; false if there is none any more.
  func complete(_ number: UInt64) -> Bool { removeCall(number) != nil }

  func isRegistered(_ number: UInt64) -> Bool {
    shown.value.calls.contains { $0.number == number }
  }

  func removeCall(_ number: UInt64) -> Call? {
    shown.withLock { shown in
      shown.calls.firstIndex { $0.number == number }.map { shown.calls.remove(at: $0) }
    }
  }

  /// Runs an operation and calls back with its result.
  ///
  /// - Returns: false while not connected; `done` is not called then.
  @discardableResult
  func perform<Output: Sendable>(
    _ work: @escaping RemotePeripheral.Work<Output>,
    _ done: @escaping (CBPeripheral, Result<Output, any Error>) -> Void
  ) -> Bool {
    let number = nextCall()
    let isRegistered = register(number) { peripheral, error in
      // Once the manager is released, the delegate is not called any more.
      if peripheral.manager != nil { done(peripheral, .failure(error)) }
    }
    guard isRegistered else { return false }
    let box = UncheckedBox(done)
    RadioLoop.later { [remote] in remote.perform(number, work, box) }
    return true
  }

  /// A write without response was sent or dropped. Returns whether to tell the app that there is
  /// room.
  func commandSent() -> Bool {
    let (isChanged, isReady) = shown.withLock { shown in
      let hadRoom = shown.commands < Self.commandLimit
      shown.commands = max(0, shown.commands - 1)
      let isChanged = !hadRoom && shown.commands < Self.commandLimit
      guard shown.isWaitingForRoom, shown.commands <= Self.commandLimit / 2 else {
        return (isChanged, false)
      }
      shown.isWaitingForRoom = false
      return (isChanged, true)
    }
    if isChanged { observers.check() }
    return isReady
  }

  func finishRoomCalls() {
    let calls = shown.withLock { shown in
      defer { shown.roomCalls = [] }
      return shown.roomCalls
    }
    for (number, continuation) in calls where complete(number) { continuation.resume() }
  }

  // MARK: Ownership

  func isMine(_ service: CBService) -> Bool {
    if service.peripheral === self { return true }
    Warning.log("API MISUSE: \(service) is not a service of \(self)")
    return false
  }

  /// The characteristic in this peripheral's database; nil, with a warning, if it is not there.
  func mine(_ characteristic: CBCharacteristic) -> Characteristic? {
    if let found = characteristic.found, characteristic.service?.peripheral === self {
      return found
    }
    Warning.log("API MISUSE: \(characteristic) is not a characteristic of \(self)")
    return nil
  }

  func mine(_ descriptor: CBDescriptor) -> AttributeHandle? {
    if let handle = descriptor.handle,
      descriptor.characteristic?.service?.peripheral === self
    {
      return handle
    }
    Warning.log("API MISUSE: \(descriptor) is not a descriptor of \(self)")
    return nil
  }
}

extension Result {
  var error: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
