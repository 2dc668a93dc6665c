import Foundation

/// What is sent to the other end of a channel, as a Foundation stream.
final class ChannelOutputStream: OutputStream {
  private let events: ChannelStreamEvents
  private let pipe: ChannelPipe

  init(_ pipe: ChannelPipe) {
    self.pipe = pipe
    events = ChannelStreamEvents(pipe, .output)
    super.init(toMemory: ())
    events.begin(for: self)
  }

  /// Foundation's; nobody can call it, as the class is not public.
  required init(toMemory: ()) { fatalError("a channel's stream has a channel") }

  deinit { events.close() }

  override func open() { events.open() }
  override func close() { events.close() }

  /// Waits for room for at least one octet. -1 if the stream is not open or the channel has ended.
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
