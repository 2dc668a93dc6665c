import Foundation

/// The data from the other end of a channel, as a Foundation stream.
final class ChannelInputStream: InputStream {
  private let events: ChannelStreamEvents
  private let pipe: ChannelPipe

  init(_ pipe: ChannelPipe) {
    self.pipe = pipe
    events = ChannelStreamEvents(pipe, .input)
    super.init(data: Data())
    events.begin(for: self)
  }

  deinit { events.close() }

  override func open() { events.open() }
  override func close() { events.close() }

  /// Blocks for at least one octet. Returns 0 at the end, and -1 if the stream is not open or the link
  /// was lost.
  override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
    guard events.isUsable else { return -1 }
    let room = UnsafeMutableRawBufferPointer(start: buffer, count: max(0, length))
    let count = pipe.read(into: room)
    events.used()
    return count == 0 && pipe.prospect(of: .input).failure != nil ? -1 : count
  }

  override func getBuffer(
    _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>,
    length: UnsafeMutablePointer<Int>
  ) -> Bool { false }

  override var hasBytesAvailable: Bool { events.isReady }
  override var streamStatus: Stream.Status { events.status }
  override var streamError: (any Error)? { events.error }

  override weak var delegate: (any StreamDelegate)? {
    get { events.delegate }
    set { events.delegate = newValue }
  }

  override func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
    events.schedule(in: loop, forMode: mode)
  }

  override func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    events.remove(from: loop, forMode: mode)
  }

  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
    false
  }
}

/// The data to the other end of a channel, as a Foundation stream.
final class ChannelOutputStream: OutputStream {
  private let events: ChannelStreamEvents
  private let pipe: ChannelPipe

  init(_ pipe: ChannelPipe) {
    self.pipe = pipe
    events = ChannelStreamEvents(pipe, .output)
    super.init(toMemory: ())
    events.begin(for: self)
  }

  /// Required by Foundation. The class is internal and nothing calls it.
  required init(toMemory: ()) {
    fatalError("ChannelOutputStream(toMemory:) is not supported: use CBL2CAPChannel.outputStream")
  }

  deinit { events.close() }

  override func open() { events.open() }
  override func close() { events.close() }

  /// Blocks for room for at least one octet. Returns -1 if the stream is not open or the channel has
  /// ended.
  override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
    guard events.isUsable else { return -1 }
    let count = pipe.write(UnsafeRawBufferPointer(start: buffer, count: max(0, length)))
    events.used()
    return count
  }

  override var hasSpaceAvailable: Bool { events.isReady }
  override var streamStatus: Stream.Status { events.status }
  override var streamError: (any Error)? { events.error }

  override weak var delegate: (any StreamDelegate)? {
    get { events.delegate }
    set { events.delegate = newValue }
  }

  override func schedule(in loop: RunLoop, forMode mode: RunLoop.Mode) {
    events.schedule(in: loop, forMode: mode)
  }

  override func remove(from loop: RunLoop, forMode mode: RunLoop.Mode) {
    events.remove(from: loop, forMode: mode)
  }

  override func property(forKey key: Stream.PropertyKey) -> AnyObject? { nil }

  override func setProperty(_ property: AnyObject?, forKey key: Stream.PropertyKey) -> Bool {
    false
  }
}
